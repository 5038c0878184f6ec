//! Handles through which the process observes and ends its runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use orbweaver_store::crawl::{Lease, PartLease, Progress};
use parking_lot::Mutex;
use tokio::sync::watch;

/// A reason to end a run from outside its task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// No reason.
    #[default]
    Going,
    /// The process stops: hand the run back.
    Stop,
    /// The run was deleted or taken over by another worker: drop it.
    Lost,
    /// The run can't be written: let it fail.
    Broken(String),
}

/// Shared handle to a running crawl.
#[derive(Debug)]
pub(crate) struct RunHandle {
    pub lease: Lease,
    /// The part that is worked on; `None` for the whole run.
    pub part: Option<PartLease>,
    /// Whether other nodes store pages of the run, too.
    pub has_parts: AtomicBool,
    /// Concurrent requests of the part; 0: as many as the origin can handle.
    pub concurrency: AtomicU32,
    pub progress: Mutex<Progress>,
    /// The counts as they were written last.
    pub written_progress: Mutex<Progress>,
    /// Items written so far.
    pub written: watch::Sender<u64>,
    pub fate: watch::Sender<Fate>,
}

impl RunHandle {
    pub fn new(lease: Lease, progress: Progress) -> Arc<Self> {
        Self::with_part(lease, None, progress)
    }

    /// The handle of a part of a run.
    pub fn of_part(part: PartLease) -> Arc<Self> {
        let lease = Lease {
            run: part.run,
            project: part.project,
            // No lease of the run: with it nothing of the run's own can be written.
            epoch: -1,
        };
        Self::with_part(lease, Some(part), Progress::default())
    }

    fn with_part(lease: Lease, part: Option<PartLease>, progress: Progress) -> Arc<Self> {
        Arc::new(Self {
            lease,
            part,
            has_parts: AtomicBool::new(false),
            concurrency: AtomicU32::new(0),
            written_progress: Mutex::new(progress.clone()),
            progress: Mutex::new(progress),
            written: watch::Sender::new(0),
            fate: watch::Sender::new(Fate::Going),
        })
    }

    /// Sets the run's fate if it has none yet.
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
