//! The jobs of this process.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_core::ids::JobId;
use orbweaver_store::jobs::JobLease;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// A reason to end an attempt from outside its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// No reason.
    #[default]
    Going,
    /// The process stops, or the database can't be written: hand the job back.
    HandBack,
    /// The job was deleted or taken over by another worker: drop it.
    Lost,
}

/// Shared handle to an attempt.
#[derive(Debug)]
pub(crate) struct JobHandle {
    pub lease: JobLease,
    pub fate: watch::Sender<Fate>,
    /// Whether the job's end is asked for.
    pub cancel: watch::Sender<bool>,
}

impl JobHandle {
    pub fn new(lease: JobLease, cancel: bool) -> Arc<Self> {
        Arc::new(Self {
            lease,
            fate: watch::Sender::new(Fate::Going),
            cancel: watch::Sender::new(cancel),
        })
    }

    /// Sets the attempt's fate; a lost job stays lost.
    pub fn doom(&self, fate: Fate) {
        self.fate.send_if_modified(|known| {
            let open = *known != Fate::Lost && *known != fate;
            if open {
                *known = fate;
            }
            open
        });
    }

    /// The fate so far.
    pub fn fate(&self) -> Fate {
        *self.fate.borrow()
    }

    /// Waits until there is a fate.
    pub(crate) async fn doomed(&self) -> Fate {
        let mut fate = self.fate.subscribe();
        // Fails only with the sender, which `self` holds.
        match fate.wait_for(|fate| *fate != Fate::Going).await {
            Ok(fate) => *fate,
            Err(_) => Fate::HandBack,
        }
    }
}

/// The jobs of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LiveJobs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    jobs: Mutex<HashMap<JobId, Arc<JobHandle>>>,
    wake: Notify,
    removals: Notify,
    stop: watch::Sender<bool>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            jobs: Mutex::default(),
            wake: Notify::new(),
            removals: Notify::new(),
            stop: watch::Sender::new(false),
        }
    }
}

impl LiveJobs {
    /// Wakes the worker because a job was queued.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Asks a job of this process to end; one of another node hears of it within a heartbeat.
    pub fn cancel(&self, job: JobId) {
        if let Some(handle) = self.0.jobs.lock().get(&job) {
            handle.cancel.send_replace(true);
        }
    }

    /// Drops a deleted job at once; one of another node ends at its next write or heartbeat. Its
    /// items are removed soon.
    pub fn forget(&self, job: JobId) {
        if let Some(handle) = self.0.jobs.lock().get(&job) {
            handle.doom(Fate::Lost);
        }
        self.0.removals.notify_one();
    }

    /// Hands all jobs back and takes no new ones.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Waits for [`stop`](Self::stop).
    pub(super) async fn stopped(&self) {
        let mut stop = self.0.stop.subscribe();
        // Fails only with the sender, which `self` holds.
        drop(stop.wait_for(|stop| *stop).await);
    }

    /// Waits until [`wake`](Self::wake) is called.
    pub(super) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Waits until items are to be removed.
    pub(super) async fn removals(&self) {
        self.0.removals.notified().await;
    }

    /// Wakes the removal of items.
    pub(super) fn remove_items(&self) {
        self.0.removals.notify_one();
    }

    /// Every job's handle.
    pub(super) fn handles(&self) -> Vec<Arc<JobHandle>> {
        self.0.jobs.lock().values().cloned().collect()
    }

    /// The jobs of this process.
    pub(super) fn jobs(&self) -> Vec<JobId> {
        self.0.jobs.lock().keys().copied().collect()
    }

    /// Adds a job of this process.
    pub(super) fn insert(&self, handle: Arc<JobHandle>) {
        self.0.jobs.lock().insert(handle.lease.job, handle);
    }

    /// Removes a job whose attempt under this handle has ended.
    pub(super) fn remove(&self, handle: &JobHandle) {
        let mut jobs = self.0.jobs.lock();
        let job = handle.lease.job;
        // The process may have taken the job again under another epoch.
        if jobs
            .get(&job)
            .is_some_and(|known| known.lease == handle.lease)
        {
            jobs.remove(&job);
        }
    }
}
