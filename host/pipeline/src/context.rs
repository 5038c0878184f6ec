//! What a scan works with.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::fair::Slots;
use orbweaver_accounts::quota::Quota;
use orbweaver_store::Store;

use crate::cloud::Cloud;
use crate::pipeline::Pipeline;

/// Scans of this process: pipeline, backends, and where results and bills go. Cheap to clone.
#[derive(Clone)]
pub struct Scans(Arc<ScansParts>);

/// What [`Scans`] are made of.
pub struct ScansParts {
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
    /// Scans at once, in turns by project.
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
