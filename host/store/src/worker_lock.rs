//! Detects which processes use a SQLite file. PostgreSQL notices when a client dies, and its
//! nodes take over from each other by leases that expire. The processes of a SQLite file are on
//! one machine, so advisory file locks are quicker: the kernel releases them when their process
//! ends, for any reason.
//!
//! - `FILE.lock`: shared by every process that serves or crawls. A process that finds it free
//!   ends everything a dead process held: reservations, mails and requests in progress.
//! - `FILE.worker.lock`: held by the one process that works on runs and delivers webhooks. The
//!   process that acquires it ends the leases of the previous holder.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};

use chrono::{DateTime, Utc};

use crate::db::{Db, transact};
use crate::error::StoreError;
use crate::leases::Leased;
use crate::store::Store;

/// Name of the setting that holds when a worker of a PostgreSQL database last showed itself, in
/// milliseconds since 1970.
const WORKER_SEEN: &str = "worker.seen";

/// The right to work on runs and deliver webhooks, held until it is dropped.
#[derive(Debug)]
pub struct WorkerLock {
    /// `None` for PostgreSQL, whose nodes all work, and for a database in memory.
    _lock: Option<File>,
}

/// Result of trying to take the worker lock.
#[derive(Debug)]
pub enum WorkerLockAttempt {
    /// This process holds it now, and no lease is active.
    Acquired(WorkerLock),
    /// Another process holds it; its process id, if known.
    HeldByOther(Option<u32>),
}

impl Store {
    /// Announces that this process uses the database, until [`Store::close`]; to be called
    /// before anything is reserved, claimed or sent. On a SQLite file that no other process
    /// uses, everything held by dead processes ends now instead of at its expiry.
    ///
    /// # Errors
    /// When the database fails. If the file system has no locks, everything ends at its expiry.
    #[crate::boxed]
    pub async fn join(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let Db::Lite(lite) = &self.db else {
            return Ok(());
        };
        let presence = lite.presence.clone();
        let file = match presence.open(".lock") {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(()),
            Err(error) => return no_locks(&error),
        };
        match file.try_lock() {
            Ok(()) => {
                self.end_what_was_held(now).await?;
                if let Err(error) = file.unlock() {
                    return no_locks(&error);
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return no_locks(&error),
        }
        // Waits only while another process runs the lines above.
        let shared = tokio::task::spawn_blocking(move || file.lock_shared().map(|()| file)).await;
        match shared {
            Ok(Ok(file)) => drop(presence.hold(Some(file))),
            Ok(Err(error)) => return no_locks(&error),
            Err(_) => return Err(StoreError::Closed),
        }
        Ok(())
    }

    /// Takes the worker lock, if it is free; on SQLite this ends the leases of all runs and jobs. A run is
    /// then leased under a new epoch, so that a previous worker that still lives cannot write
    /// any more.
    ///
    /// # Errors
    /// When the database fails. If the file system has no locks, every process gets the lock,
    /// and leases end at their expiry.
    #[crate::boxed]
    pub async fn try_lock_worker(&self) -> Result<WorkerLockAttempt, StoreError> {
        let Db::Lite(lite) = &self.db else {
            return Ok(WorkerLockAttempt::Acquired(WorkerLock { _lock: None }));
        };
        let mut file = match lite.presence.open(".worker.lock") {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(WorkerLockAttempt::Acquired(WorkerLock { _lock: None })),
            Err(error) => {
                no_locks(&error)?;
                return Ok(WorkerLockAttempt::Acquired(WorkerLock { _lock: None }));
            }
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut left = String::new();
                let _ = file.read_to_string(&mut left);
                return Ok(WorkerLockAttempt::HeldByOther(left.trim().parse().ok()));
            }
            Err(TryLockError::Error(error)) => {
                no_locks(&error)?;
                return Ok(WorkerLockAttempt::Acquired(WorkerLock { _lock: None }));
            }
        }
        // Only shown to people; the lock itself decides.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = writeln!(file, "{}", std::process::id());
        self.end_leases().await?;
        Ok(WorkerLockAttempt::Acquired(WorkerLock {
            _lock: Some(file),
        }))
    }

    /// Shows other processes that this one works on runs. On SQLite its lock shows that.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn show_worker(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        match &self.db {
            Db::Lite(_) => Ok(()),
            Db::Pg(_) => {
                let now = now.timestamp_millis().to_string();
                let shown = self.set_setting(WORKER_SEEN, &now).await;
                self.refusals.note(&shown);
                shown
            }
        }
    }

    /// When a process that works on runs was last seen; on SQLite, whether one is there now.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn worker_seen(
        &self,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let Db::Lite(lite) = &self.db else {
            let seen = self.setting(WORKER_SEEN).await?;
            let seen = seen.and_then(|seen| seen.parse().ok());
            return Ok(seen.and_then(DateTime::from_timestamp_millis));
        };
        let is_free = match lite.presence.open(".worker.lock") {
            // Shared, so that processes that look do not take each other for a worker.
            Ok(Some(file)) => file.try_lock_shared().is_ok(),
            // Nothing tells; see `no_locks`.
            Ok(None) | Err(_) => false,
        };
        Ok((!is_free).then_some(now))
    }

    async fn end_leases(&self) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sql::leases::end_all(tx, Leased::Runs).await?;
            sql::leases::end_all(tx, Leased::Jobs).await?;
            sql::leases::end_all(tx, Leased::Exports).await
        })
    }

    async fn end_what_was_held(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sql::reservations::delete_all(tx).await?;
            sql::mail::end_claims(tx, now).await?;
            sql::idempotency::end_unanswered(tx).await
        })
    }
}

/// Some network file systems have no locks: then leases and claims end at their expiry.
fn no_locks(error: &std::io::Error) -> Result<(), StoreError> {
    tracing::warn!(%error, "cannot lock the files beside the database; work of a process that \
        died waits until its lease expires");
    Ok(())
}
