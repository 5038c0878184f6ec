//! The context of crawls, monitors and webhooks.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::quota::Quota;
use orbweaver_pipeline::Pipeline;
use orbweaver_pipeline::cloud::Cloud;
use orbweaver_store::Store;
use tokio::sync::Notify;

use crate::config::{CrawlConfig, RetentionConfig, WebhooksConfig};
use crate::export::{BucketExports, ExportGate};
use crate::link_reader::Places;
use crate::live::LiveRuns;
use crate::webhooks::signals::Webhooks;

/// Crawls, monitors and webhooks of this process. Cheap to clone.
#[derive(Clone)]
pub struct Crawls(Arc<CrawlsParts>);

/// The fields of [`Crawls`].
pub struct CrawlsParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// The projects' quotas.
    pub quota: Quota,
    /// Fetcher and plugins.
    pub pipeline: Pipeline,
    /// Renders pages.
    pub cloud: Cloud,
    /// The runs of this process.
    pub live: LiveRuns,
    /// Webhook deliveries of this process.
    pub webhooks: Webhooks,
    /// Wakes the removal of the data of deleted runs.
    pub deletions: Notify,
    /// Limits the exports of a project at the same time.
    pub exports: ExportGate,
    /// The exports to buckets of this process.
    pub bucket_exports: BucketExports,
    /// Remembered positions within runs' links.
    pub link_places: Places,
    /// `[crawl]`.
    pub config: CrawlConfig,
    /// `[webhooks]`.
    pub webhook_config: WebhooksConfig,
    /// `[retention]`.
    pub retention: RetentionConfig,
}

impl From<CrawlsParts> for Crawls {
    fn from(parts: CrawlsParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Crawls {
    type Target = CrawlsParts;

    fn deref(&self) -> &CrawlsParts {
        &self.0
    }
}

impl fmt::Debug for Crawls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crawls")
    }
}
