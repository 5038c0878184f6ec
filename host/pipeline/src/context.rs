//! The context of scans.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::fair::Slots;
use orbweaver_accounts::quota::Quota;
use orbweaver_store::Store;

use crate::cloud::Cloud;
use crate::pipeline::Pipeline;

/// Runs scans: pipeline, backends, store and quota of this process. Cheap to clone.
#[derive(Clone)]
pub struct Scans(Arc<ScansParts>);

/// The parts of [`Scans`].
pub struct ScansParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Reserves pages within the caps.
    pub quota: Quota,
    /// Fetcher, plugins and caches.
    pub pipeline: Pipeline,
    /// The backends: browser, proxy pools, upstream provider.
    pub cloud: Cloud,
    /// Bounds the scans that run at once; projects take turns.
    pub slots: Slots,
}

impl From<ScansParts> for Scans {
    fn from(parts: ScansParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Scans {
    type Target = ScansParts;

    fn deref(&self) -> &ScansParts {
        &self.0
    }
}

impl fmt::Debug for Scans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scans")
    }
}
