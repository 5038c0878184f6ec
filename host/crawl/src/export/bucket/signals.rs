//! Signals to the worker that writes exports to buckets.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_core::ids::{ExportId, ProjectId};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

/// Parts of files that are made and sent at the same time. Each is in memory until its bucket has
/// taken it.
const TURNS: usize = 4;

/// The exports to buckets of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct BucketExports(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wake: Notify,
    stop: watch::Sender<bool>,
    running: Mutex<HashMap<ExportId, Running>>,
    turns: Semaphore,
}

/// The turn of an export to make and send a part of its file, until it is dropped.
pub(super) struct Turn<'a>(#[expect(dead_code, reason = "held")] SemaphorePermit<'a>);

#[derive(Debug)]
struct Running {
    project: ProjectId,
    cancel: watch::Sender<bool>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            wake: Notify::new(),
            stop: watch::Sender::new(false),
            running: Mutex::default(),
            turns: Semaphore::new(TURNS),
        }
    }
}

/// An export in progress, until it is dropped.
pub(super) struct Registered {
    exports: BucketExports,
    id: ExportId,
    /// Becomes true when the export is cancelled.
    cancelled: watch::Receiver<bool>,
}

impl BucketExports {
    /// Wakes the worker because an export is queued.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Takes no more exports, and hands those in progress back.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Ends an export of this process that was cancelled.
    pub fn cancel(&self, id: ExportId) {
        if let Some(running) = self.0.running.lock().get(&id) {
            running.cancel.send_replace(true);
        }
    }

    /// Waits until [`wake`](Self::wake) is called.
    pub(super) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Waits until [`stop`](Self::stop) is called.
    pub(super) async fn stopped(&self) {
        let mut stop = self.0.stop.subscribe();
        drop(stop.wait_for(|stop| *stop).await);
    }

    pub(super) fn register(&self, id: ExportId, project: ProjectId, cancel: bool) -> Registered {
        let (cancel, cancelled) = watch::channel(cancel);
        let running = Running { project, cancel };
        self.0.running.lock().insert(id, running);
        Registered {
            exports: self.clone(),
            id,
            cancelled,
        }
    }

    /// Waits for a turn. Exports have theirs in the order in which they ask.
    pub(super) async fn turn(&self) -> Turn<'_> {
        match self.0.turns.acquire().await {
            Ok(turn) => Turn(turn),
            Err(_) => unreachable!("the semaphore is never closed"),
        }
    }

    /// A turn, unless other exports wait for theirs.
    pub(super) fn turn_at_once(&self) -> Option<Turn<'_>> {
        // A permit that is given back goes to the first that waits, and is not available.
        self.0.turns.try_acquire().ok().map(Turn)
    }

    /// Number of exports in progress.
    pub(super) fn running(&self) -> usize {
        self.0.running.lock().len()
    }

    /// Projects with an export in progress.
    pub(super) fn projects(&self) -> Vec<ProjectId> {
        let running = self.0.running.lock();
        running.values().map(|running| running.project).collect()
    }
}

impl Registered {
    /// Waits until the export is cancelled.
    pub(super) async fn cancelled(&mut self) {
        drop(self.cancelled.wait_for(|cancelled| *cancelled).await);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.exports.0.running.lock().remove(&self.id);
    }
}
