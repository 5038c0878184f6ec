//! Assembles the service from its configuration.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use orbweaver_accounts::auth::Keys;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::fair::{Limits, Slots};
use orbweaver_accounts::mail::Mailer;
use orbweaver_accounts::quota::Quota;
use orbweaver_accounts::registry::Registry;
use orbweaver_accounts::same_secret;
use orbweaver_accounts::seal::Seal;
use orbweaver_accounts::usage::Usage;
use orbweaver_accounts::{Accounts, AccountsParts};
use orbweaver_actors::jobs::LiveJobs;
use orbweaver_actors::plugins::{self, Overlay, PluginJournal, PluginLimits};
use orbweaver_actors::{Actors, ActorsParts, PluginValues, StateTurns};
use orbweaver_api::heartbeat::Heartbeat;
use orbweaver_api::{App, AppParts, Memory, Rates};
use orbweaver_crawl::export::{BucketExports, ExportGate};
use orbweaver_crawl::link_reader::Places;
use orbweaver_crawl::webhooks::Webhooks;
use orbweaver_crawl::{Crawls, CrawlsParts, LiveRuns};
use orbweaver_fetch::{Resolver, SystemResolver};
use orbweaver_pipeline::blocklist::Blocklist;
use orbweaver_pipeline::cloud::Cloud;
use orbweaver_pipeline::{Pipeline, PipelineSettings, Scans, ScansParts};
use tokio::sync::Mutex;
use tokio::sync::Notify;

use crate::blobs;
use crate::config::{Config, Role};
use crate::telemetry::PrometheusHandle;

/// The service with its parts and its configuration. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    app: App,
    config: Config,
    /// Held by the background task that keeps it current.
    blocklist: Mutex<Blocklist>,
}

impl Service {
    /// The context of requests.
    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Keeps the blocklist current; ends with the task that runs it.
    pub(crate) async fn refresh_blocklist(self) {
        self.0.blocklist.lock().await.run().await;
    }
}

impl Deref for Service {
    type Target = App;

    fn deref(&self) -> &App {
        &self.0.app
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}

/// Uploads of plugins under way at once, each of up to 64 MiB.
const CONCURRENT_UPLOADS: usize = 2;

/// The same for uploads of projects for themselves, until they are compiled.
const CONCURRENT_PROJECT_UPLOADS: usize = 16;

/// Opens everything that the configuration names, and loads the plugins.
///
/// # Errors
/// Says what is missing or wrong, and how to fix it.
pub async fn build(
    config: Config,
    clock: Clock,
    metrics: Option<PrometheusHandle>,
) -> anyhow::Result<Service> {
    build_with(config, clock, metrics, Arc::new(SystemResolver)).await
}

/// Same as [`build`], but `resolver` resolves names.
///
/// # Errors
/// Same as [`build`].
pub async fn build_with(
    config: Config,
    clock: Clock,
    metrics: Option<PrometheusHandle>,
    resolver: Arc<dyn Resolver>,
) -> anyhow::Result<Service> {
    config.create_data_dir()?;
    let store = blobs::open_store(&config, &clock).await?;
    let clock = clock.on(&store).await?;
    let seal = Seal::load(config.secret_key.as_ref(), &config.data_dir)?;
    same_secret::check(&store, &seal, config.secret_key.is_some()).await?;
    store.join_blobs().await?;
    store.join(clock.now()).await?;
    let settings = PipelineSettings {
        load_behind: true,
        ..config.pipeline()
    };
    let pipeline = Pipeline::with_resolver(settings, resolver).await?;
    let blocklist = Blocklist::load(&config.blocklist, &config.data_dir, &pipeline.fetcher).await?;
    let registry = Registry::new(store.clone());
    let quota = Quota::new(
        config.tiers.clone(),
        store.clone(),
        clock.clone(),
        registry.clone(),
    );
    let cloud = Cloud::new(
        &pipeline.fetcher,
        config.browser.as_deref(),
        config.rendering.clone(),
        &config.cloud,
    );
    let accounts = Accounts::from(AccountsParts {
        store: store.clone(),
        clock: clock.clone(),
        fetcher: pipeline.fetcher.clone(),
        keys: Keys::new(store.clone(), registry),
        quota: quota.clone(),
        usage: Usage::new(store.clone()),
        mailer: Mailer::new(&config.mail)?,
        seal,
        signup: config.signup.resolved(config.only_loopback()),
        billing: config.billing.resolved(config.only_loopback()),
    });
    let scans = Scans::from(ScansParts {
        store: store.clone(),
        clock: clock.clone(),
        quota: quota.clone(),
        pipeline: pipeline.clone(),
        cloud: cloud.clone(),
        slots: Slots::new(
            "scans",
            "scan.queue_per_project",
            Limits::new(config.scan.concurrent, config.scan.queue_per_project),
        ),
    });
    let crawls = Crawls::from(CrawlsParts {
        store: store.clone(),
        clock: clock.clone(),
        quota: quota.clone(),
        pipeline: pipeline.clone(),
        cloud: cloud.clone(),
        live: LiveRuns::default(),
        webhooks: Webhooks::default(),
        deletions: Notify::new(),
        exports: ExportGate::default(),
        bucket_exports: BucketExports::default(),
        link_places: Places::default(),
        config: config.crawl.clone(),
        webhook_config: config.webhooks.clone(),
        retention: config.retention.clone(),
    });
    // A project hears of a plugin that comes and goes as often as of one that stays in quarantine.
    let pause = config.plugins.quarantine_max_ms.as_duration();
    let journal = PluginJournal::start(store.clone(), clock.clone(), pause);
    pipeline.engine.set_journal(Arc::new(journal.clone()));
    let values = PluginValues {
        store: store.clone(),
        clock: clock.clone(),
        quota: quota.clone(),
        turns: StateTurns::default(),
    };
    pipeline.engine.set_hook_hosts(Arc::new(values.clone()));
    let actors = Actors::from(ActorsParts {
        store: store.clone(),
        clock: clock.clone(),
        accounts: accounts.clone(),
        quota,
        pipeline: pipeline.clone(),
        cloud: cloud.clone(),
        overlay: Overlay::default(),
        values,
        journal: journal.clone(),
        plugin_limits: PluginLimits {
            kept_versions: config.plugins.kept_versions,
            all_projects: config.plugins.max_project_plugins,
        },
        slots: Slots::new(
            "calls of actors and fetchers",
            "plugins.actor_queue_per_project",
            Limits::new(
                config.plugins.max_actors,
                config.plugins.actor_queue_per_project,
            ),
        ),
        jobs: LiveJobs::default(),
        job_config: config.jobs.clone(),
        uploads: Slots::new(
            "uploads of plugins",
            "plugins.upload_queue",
            Limits::new(CONCURRENT_UPLOADS, config.plugins.upload_queue),
        ),
        project_uploads: Slots::new(
            "uploads of plugins",
            "plugins.upload_queue",
            Limits::new(CONCURRENT_PROJECT_UPLOADS, config.plugins.upload_queue),
        ),
        prices: config.cloud.prices,
        max_body_bytes: config.fetch.limits.max_body_bytes,
        max_fetch_time: config.fetch.limits.total_ms.as_duration(),
        drop_tracking: config.crawl.drop_tracking,
    });
    plugins::follow(&actors, true).await?;
    let heartbeat = Heartbeat::new(config.roles.contains(&Role::Worker), clock.now());
    let app = App::from(AppParts {
        store,
        clock,
        accounts,
        pipeline,
        cloud,
        scans,
        crawls,
        actors,
        heartbeat,
        metrics,
        rates: Rates::new(&config.http.rate),
        request_memory: Memory::of_requests(config.http.request_memory_mib),
        answer_memory: Memory::of_answers(config.http.answer_memory_mib),
        settings: config.api(),
    });
    Ok(Service(Arc::new(Inner {
        app,
        config,
        blocklist: Mutex::new(blocklist),
    })))
}
