//! The runs of this process.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_accounts::fair::{Limits, Slots};
use orbweaver_core::ids::RunId;
use orbweaver_store::crawl::{PartLease, Progress};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::handle::{Fate, RunHandle};
use crate::politeness::Politeness;

/// Sitemaps in memory at the same time: one with all that it lists takes up to 130 MB.
const SITEMAPS: usize = 4;

/// The runs of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LiveRuns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Runs that this process works on.
    runs: Mutex<HashMap<RunId, Arc<RunHandle>>>,
    /// Parts of other nodes' runs that this process works on.
    parts: Mutex<HashMap<PartLease, Arc<RunHandle>>>,
    wake: Notify,
    stop: watch::Sender<bool>,
    politeness: Politeness,
    sitemaps: Slots,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            runs: Mutex::default(),
            parts: Mutex::default(),
            wake: Notify::new(),
            stop: watch::Sender::new(false),
            politeness: Politeness::default(),
            sitemaps: Slots::new(
                "sitemaps to read",
                "crawl.runs",
                Limits::new(SITEMAPS, usize::MAX),
            ),
        }
    }
}

impl LiveRuns {
    /// Wakes the worker because a run was queued.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// The progress of a run of this process, including commits that are not finished.
    pub fn progress(&self, run: RunId) -> Option<Progress> {
        let runs = self.0.runs.lock();
        runs.get(&run).map(|handle| handle.progress.lock().clone())
    }

    /// Changes with every commit of a run of this process; closed at its end.
    pub fn commits(&self, run: RunId) -> Option<watch::Receiver<u64>> {
        let runs = self.0.runs.lock();
        runs.get(&run).map(|handle| handle.written.subscribe())
    }

    /// Drops a deleted run at once; a run of another node ends at its next commit.
    pub fn forget(&self, run: RunId) {
        if let Some(handle) = self.0.runs.lock().get(&run) {
            handle.doom(Fate::Lost);
        }
        for handle in self.parts() {
            if handle.lease.run == run {
                handle.doom(Fate::Lost);
            }
        }
    }

    /// Hands all runs back and takes no new ones.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Waits for [`stop`](Self::stop).
    pub(crate) async fn stopped(&self) {
        let mut stop = self.0.stop.subscribe();
        // Fails only with the sender, which `self` holds.
        drop(stop.wait_for(|stop| *stop).await);
    }

    /// Slots for sitemaps in memory, which projects take in turns.
    pub(crate) fn sitemaps(&self) -> &Slots {
        &self.0.sitemaps
    }

    pub(crate) fn politeness(&self) -> &Politeness {
        &self.0.politeness
    }

    /// Waits until [`wake`](Self::wake) is called.
    pub(crate) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Every run's handle.
    pub(crate) fn handles(&self) -> Vec<Arc<RunHandle>> {
        self.0.runs.lock().values().cloned().collect()
    }

    /// The runs that this process works on.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        self.0.runs.lock().keys().copied().collect()
    }

    /// Parts of other nodes' runs that this process works on.
    pub fn part_count(&self) -> usize {
        self.0.parts.lock().len()
    }

    /// The handle of every part.
    pub(crate) fn parts(&self) -> Vec<Arc<RunHandle>> {
        self.0.parts.lock().values().cloned().collect()
    }

    /// Adds a run of this process, or a part of one.
    pub(crate) fn insert(&self, handle: Arc<RunHandle>) {
        if let Some(part) = handle.part {
            self.0.parts.lock().insert(part, handle);
            return;
        }
        self.0.runs.lock().insert(handle.lease.run, handle);
    }

    /// Removes a run whose work under this handle has ended.
    pub(crate) fn remove(&self, handle: &RunHandle) {
        if let Some(part) = handle.part {
            self.0.parts.lock().remove(&part);
            return;
        }
        let mut runs = self.0.runs.lock();
        let run = handle.lease.run;
        // The process may have taken the run again under another epoch.
        if runs
            .get(&run)
            .is_some_and(|known| known.lease == handle.lease)
        {
            runs.remove(&run);
        }
    }
}
