//! What every request works with.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use metrics_exporter_prometheus::PrometheusHandle;
use orbweaver_fetch::{Resolver, SystemResolver};
use orbweaver_store::Store;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::accounts::auth::Keys;
use crate::accounts::mail::Mailer;
use crate::accounts::quota::Quota;
use crate::accounts::registry::Registry;
use crate::accounts::seal::Seal;
use crate::accounts::usage::Usage;
use crate::blocklist::Blocklist;
use crate::clock::Clock;
use crate::cloud::Cloud;
use crate::config::Config;
use crate::crawl::Crawls;
use crate::crawl::cleanup::Cleanup;
use crate::crawl::links::Places;
use crate::housekeeping::Heartbeat;
use crate::pipeline::Pipeline;
use crate::plugins::Overlay;
use crate::webhooks::Webhooks;

/// The service's parts. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
pub struct Parts {
    /// The configuration.
    pub config: Config,
    /// The clock.
    pub clock: Clock,
    /// The database.
    pub store: Store,
    /// Fetcher and plugins.
    pub pipeline: Pipeline,
    /// Browser, proxy pools, upstream provider.
    pub cloud: Cloud,
    /// Uploaded plugins.
    pub overlay: Overlay,
    /// The blocklist, until the background work takes it over.
    pub blocklist: Mutex<Option<Blocklist>>,
    /// Wakes the removal of what deleted runs stored.
    pub cleanup: Cleanup,
    /// Places within runs' links.
    pub link_places: Places,
    /// Crawls that this process works on.
    pub crawls: Crawls,
    /// Scans at once.
    pub scans: Semaphore,
    /// Keys and whom they speak for.
    pub keys: Keys,
    /// What projects may still use.
    pub quota: Quota,
    /// Webhook deliveries of this process.
    pub webhooks: Webhooks,
    /// What they used.
    pub usage: Usage,
    /// The way to the mail server.
    pub mailer: Mailer,
    /// The instance's own secret.
    pub seal: Seal,
    /// Signs of life of the background work.
    pub heartbeat: Heartbeat,
    /// Metrics, where they are collected.
    pub metrics: Option<PrometheusHandle>,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// Longest time to an answer.
    pub request_timeout: Duration,
    /// Longest time for a request's body to arrive.
    pub body_timeout: Duration,
}

impl App {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Opens everything that the configuration names, and loads the plugins.
///
/// # Errors
/// What is missing or wrong, and what to do about it.
pub async fn build(
    config: Config,
    clock: Clock,
    metrics: Option<PrometheusHandle>,
) -> anyhow::Result<App> {
    build_with(config, clock, metrics, Arc::new(SystemResolver)).await
}

/// As [`build`], with names resolved by `resolver`.
///
/// # Errors
/// As [`build`].
pub async fn build_with(
    config: Config,
    clock: Clock,
    metrics: Option<PrometheusHandle>,
    resolver: Arc<dyn Resolver>,
) -> anyhow::Result<App> {
    config.create_data_dir()?;
    let store = Store::open(&config.store_options()).await?;
    store.join(clock.now()).await?;
    let pipeline = Pipeline::with_resolver(&config, resolver).await?;
    let overlay = Overlay::default();
    overlay.follow(&store, &pipeline.engine).await?;
    let registry = Registry::new(store.clone());
    let blocklist = Blocklist::load(&config.blocklist, &pipeline.fetcher).await?;
    Ok(App::new(Parts {
        keys: Keys::new(store.clone(), registry.clone()),
        quota: Quota::new(&config, store.clone(), clock.clone(), registry),
        usage: Usage::new(store.clone()),
        mailer: Mailer::new(&config.mail)?,
        seal: Seal::load(&config)?,
        clock,
        cloud: Cloud::new(&config, &pipeline),
        blocklist: Mutex::new(Some(blocklist)),
        cleanup: Cleanup::default(),
        link_places: Places::default(),
        store,
        pipeline,
        crawls: Crawls::default(),
        overlay,
        scans: Semaphore::new(config.scan.concurrent),
        webhooks: Webhooks::default(),
        heartbeat: Heartbeat::default(),
        metrics,
        trusted_proxies: config.trusted_proxies()?,
        request_timeout: Duration::from_millis(config.http.request_timeout_ms),
        body_timeout: Duration::from_millis(config.http.body_timeout_ms),
        config,
    }))
}
