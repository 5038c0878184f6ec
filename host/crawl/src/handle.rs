//! A run that this process works on, as others than its task see it.

use std::sync::Arc;

use orbweaver_store::crawl::{Lease, Progress};
use parking_lot::Mutex;
use tokio::sync::watch;

/// What ends a run from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing.
    #[default]
    Going,
    /// The process stops: hand the run back.
    Stop,
    /// Deleted, or another worker's: forget it.
    Lost,
    /// It can't be written: fail it.
    Broken(String),
}

/// Shared handle to a running crawl.
#[derive(Debug)]
pub(crate) struct RunHandle {
    pub lease: Lease,
    pub progress: Mutex<Progress>,
    /// The engine's notes, when they have changed.
    pub notes: Mutex<Option<String>>,
    /// Items written so far.
    pub written: watch::Sender<u64>,
    pub fate: watch::Sender<Fate>,
}

impl RunHandle {
    pub fn new(lease: Lease, progress: Progress) -> Arc<Self> {
        Arc::new(Self {
            lease,
            progress: Mutex::new(progress),
            notes: Mutex::new(None),
            written: watch::Sender::new(0),
            fate: watch::Sender::new(Fate::Going),
        })
    }

    /// Decides the run's fate, unless that is decided.
    pub fn doom(&self, fate: Fate) {
        self.fate.send_if_modified(|known| {
            let open = matches!(known, Fate::Going | Fate::Stop) && *known != fate;
            if open {
                *known = fate;
            }
            open
        });
    }
}
