//! What calls of actors and fetchers work with.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::fair::Slots;
use orbweaver_accounts::quota::Quota;
use orbweaver_pipeline::Pipeline;
use orbweaver_pipeline::cloud::Cloud;
use orbweaver_pipeline::config::Prices;
use orbweaver_store::Store;

use crate::plugins::overlay::Overlay;

/// Actors, fetchers and uploaded plugins of this process. Cheap to clone.
#[derive(Clone)]
pub struct Actors(Arc<ActorsParts>);

/// What [`Actors`] are made of.
pub struct ActorsParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// What projects may still use.
    pub quota: Quota,
    /// Fetcher and plugins.
    pub pipeline: Pipeline,
    /// Browser, proxy pools, upstream provider.
    pub cloud: Cloud,
    /// Uploaded plugins.
    pub overlay: Overlay,
    /// Calls of actors and fetchers at once, in turns by project.
    pub slots: Slots,
    /// Uploads of plugins at once, from the first byte of their body on.
    pub uploads: Slots,
    /// What proxies cost.
    pub prices: Prices,
    /// Largest decoded body that a plugin may be given, in bytes.
    pub max_body_bytes: u64,
    /// Longest time of one fetch.
    pub max_fetch_time: Duration,
    /// Whether links that differ by tracking parameters alone count as one.
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
