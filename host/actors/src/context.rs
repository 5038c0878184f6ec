//! The context of calls of actors and fetchers.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::Accounts;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::fair::Slots;
use orbweaver_accounts::quota::Quota;
use orbweaver_pipeline::Pipeline;
use orbweaver_pipeline::cloud::Cloud;
use orbweaver_pipeline::config::Prices;
use orbweaver_store::Store;

use crate::config::JobsConfig;
use crate::jobs::live::LiveJobs;
use crate::plugins::PluginLimits;
use crate::plugins::journal::PluginJournal;
use crate::plugins::overlay::Overlay;
use crate::state::PluginValues;

/// Runs actors, fetchers and uploaded plugins of this process. Cheap to clone.
#[derive(Clone)]
pub struct Actors(Arc<ActorsParts>);

/// The parts of [`Actors`].
pub struct ActorsParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Opens the projects' secrets.
    pub accounts: Accounts,
    /// Reserves pages within the caps.
    pub quota: Quota,
    /// Fetcher, plugins and caches.
    pub pipeline: Pipeline,
    /// The backends: browser, proxy pools, upstream provider.
    pub cloud: Cloud,
    /// Uploaded plugins.
    pub overlay: Overlay,
    /// What plugins keep between calls.
    pub values: PluginValues,
    /// What plugins log, and their failed calls.
    pub journal: PluginJournal,
    /// Bounds of uploads.
    pub plugin_limits: PluginLimits,
    /// Bounds the calls that run at once; projects take turns.
    pub slots: Slots,
    /// Runs of actors in the background, of this process.
    pub jobs: LiveJobs,
    /// `[jobs]`.
    pub job_config: JobsConfig,
    /// Uploads of plugins at once, from the first byte of their body on.
    pub uploads: Slots,
    /// The same for uploads of projects for themselves, until they are compiled.
    pub project_uploads: Slots,
    /// What proxies cost.
    pub prices: Prices,
    /// Largest decoded body given to a plugin, in bytes.
    pub max_body_bytes: u64,
    /// Longest time of one fetch by a plugin.
    pub max_fetch_time: Duration,
    /// Whether links that differ only in tracking parameters count as one.
    pub drop_tracking: bool,
}

impl From<ActorsParts> for Actors {
    fn from(parts: ActorsParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Actors {
    type Target = ActorsParts;

    fn deref(&self) -> &ActorsParts {
        &self.0
    }
}

impl fmt::Debug for Actors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Actors")
    }
}
