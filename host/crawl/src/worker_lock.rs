//! Waiting for the worker lock: of the processes that share a SQLite file, one works on runs and
//! the others stand by to take over.

use std::time::Duration;

use orbweaver_store::{Store, WorkerLock, WorkerLockAttempt};

use crate::live::LiveRuns;

/// Interval at which a process that stands by tries to take the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Who holds the worker lock, as reported while a process waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerLockHolder {
    /// This process.
    ThisProcess,
    /// Another process, with its id if known; this one stands by.
    Other(Option<u32>),
}

/// Waits until this process has the worker lock; `None` if the process stops before that.
/// `told` is called when another process holds the lock, and when this one has taken it.
pub async fn wait_for_worker_lock(
    store: &Store,
    live: &LiveRuns,
    told: impl Fn(WorkerLockHolder) + Send,
) -> Option<WorkerLock> {
    let mut known = None;
    loop {
        match store.try_lock_worker().await {
            Ok(WorkerLockAttempt::Acquired(lock)) => {
                told(WorkerLockHolder::ThisProcess);
                return Some(lock);
            }
            Ok(WorkerLockAttempt::HeldByOther(process)) => {
                if known != Some(process) {
                    told(WorkerLockHolder::Other(process));
                }
                known = Some(process);
            }
            Err(error) => tracing::warn!(%error, "cannot take the worker lock"),
        }
        tokio::select! {
            () = live.stopped() => return None,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}
