//! Crawls: what a run is asked to do, and the engine that does it.
//!
//! A worker leases runs and works on each in a task ([`run`]) that decides what is fetched
//! next; fetches run beside it and hand back finished rows; one task of the process writes
//! them ([`commit`]). What a run has found and done is in the database after every commit,
//! so that any worker can go on with it.

pub mod cleanup;
mod commit;
mod fetch;
mod frontier;
mod limiter;
pub mod links;
mod page;
mod politeness;
mod run;
mod scope;
mod seat;
mod seed;
pub mod spec;
pub mod submit;
mod traps;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_core::ids::RunId;
use orbweaver_store::crawl::Progress;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use commit::{Fate, RunHandle};
use politeness::Politeness;
pub use seat::{Seat, seat};
pub use worker::run as work;

/// The crawls of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Crawls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Runs that this process works on.
    runs: Mutex<HashMap<RunId, Arc<RunHandle>>>,
    wake: Notify,
    stop: watch::Sender<bool>,
    politeness: Politeness,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            runs: Mutex::default(),
            wake: Notify::new(),
            stop: watch::Sender::new(false),
            politeness: Politeness::default(),
        }
    }
}

impl Crawls {
    /// Tells the worker that a run was queued, so that it need not look by itself.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// What a run that this process works on has done, the last commits not waited for.
    pub fn progress(&self, run: RunId) -> Option<Progress> {
        let runs = self.0.runs.lock();
        runs.get(&run).map(|handle| handle.progress.lock().clone())
    }

    /// Changes with every commit of a run that this process works on; closed at its end.
    pub fn commits(&self, run: RunId) -> Option<watch::Receiver<u64>> {
        let runs = self.0.runs.lock();
        runs.get(&run).map(|handle| handle.written.subscribe())
    }

    /// Drops a run that was deleted, at once; on another node its next commit does.
    pub fn forget(&self, run: RunId) {
        if let Some(handle) = self.0.runs.lock().get(&run) {
            handle.doom(Fate::Lost);
        }
    }

    /// Hands all runs back and takes no more.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Waits for [`stop`](Self::stop).
    async fn stopped(&self) {
        let mut stop = self.0.stop.subscribe();
        // Fails only with the sender, which `self` holds.
        drop(stop.wait_for(|stop| *stop).await);
    }

    fn politeness(&self) -> &Politeness {
        &self.0.politeness
    }
}
