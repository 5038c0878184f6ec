//! The state shared by all requests.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use orbweaver_accounts::Accounts;
use orbweaver_accounts::clock::Clock;
use orbweaver_actors::Actors;
use orbweaver_crawl::Crawls;
use orbweaver_pipeline::cloud::Cloud;
use orbweaver_pipeline::{Pipeline, Scans};
use orbweaver_store::Store;

use crate::config::ApiSettings;
use crate::heartbeat::Heartbeat;
use crate::memory_limit::Memory;
use crate::rates::Rates;

/// The contexts of all crates. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

/// The parts of an [`App`].
pub struct AppParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Projects, keys, quota and money.
    pub accounts: Accounts,
    /// Fetcher and plugins.
    pub pipeline: Pipeline,
    /// Browser, proxy pools, upstream provider.
    pub cloud: Cloud,
    /// Scans.
    pub scans: Scans,
    /// Crawls, monitors and webhooks.
    pub crawls: Crawls,
    /// Actors, fetchers and uploaded plugins.
    pub actors: Actors,
    /// Heartbeat of the background work.
    pub heartbeat: Heartbeat,
    /// Metrics, if they are collected.
    pub metrics: Option<PrometheusHandle>,
    /// Rate limits.
    pub rates: Rates,
    /// Memory for the bodies of requests.
    pub request_memory: Memory,
    /// Memory for answers that are not yet read.
    pub answer_memory: Memory,
    /// The part of the configuration that the API needs.
    pub settings: ApiSettings,
}

impl From<AppParts> for App {
    fn from(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl FromRef<App> for Accounts {
    fn from_ref(app: &App) -> Self {
        app.accounts.clone()
    }
}

impl FromRef<App> for Scans {
    fn from_ref(app: &App) -> Self {
        app.scans.clone()
    }
}

impl FromRef<App> for Crawls {
    fn from_ref(app: &App) -> Self {
        app.crawls.clone()
    }
}

impl FromRef<App> for Actors {
    fn from_ref(app: &App) -> Self {
        app.actors.clone()
    }
}
