//! Which processes use a SQLite file. PostgreSQL knows when a client dies and its nodes take
//! over from each other by leases that run out; a SQLite file has its processes on one
//! machine, whose kernel knows better: advisory locks on files beside the database end with
//! the process that holds them, however it ends.
//!
//! - `FILE.lock`: shared by every process that serves or crawls. Who finds nobody there ends
//!   what only dead processes can have held: reservations, mails and requests under way.
//! - `FILE.worker.lock`: the seat of the one process that works on runs and delivers
//!   webhooks. Who takes the seat ends the leases of whoever sat there before.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

use crate::db::{Db, Store, transact};
use crate::error::StoreError;

/// Where the locks of a SQLite file are, and what this process holds of them.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    /// The database; none where it is in memory.
    file: Option<PathBuf>,
    held: Arc<Mutex<Option<File>>>,
}

impl Presence {
    /// Of the database at `path`, which exists.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            // A link and what it leads to are one database.
            file: path.canonicalize().ok(),
            held: Arc::default(),
        }
    }

    /// The database's file; none where it is in memory.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Lets others find nobody here.
    pub(crate) fn leave(&self) {
        drop(self.hold(None));
    }

    fn hold(&self, file: Option<File>) -> Option<File> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut held, file)
    }

    fn open(&self, suffix: &str) -> std::io::Result<Option<File>> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let mut path = file.clone().into_os_string();
        path.push(suffix);
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        Ok(Some(opened))
    }
}

/// The right to work on runs and deliver webhooks, until it is dropped.
#[derive(Debug)]
pub struct WorkerSeat {
    /// None: PostgreSQL's nodes all work, and a database in memory has but one process.
    _lock: Option<File>,
}

/// An attempt to take the worker's seat.
#[derive(Debug)]
pub enum Seating {
    /// It is ours, and nobody holds a lease.
    Ours(WorkerSeat),
    /// Another process has it: its id, where it left one.
    Taken(Option<u32>),
}

impl Store {
    /// Tells other processes that this one uses the database, until [`Store::close`]; to be
    /// called before anything is reserved, claimed or sent. On a SQLite file that no other
    /// process uses, what dead ones held ends now instead of by its time.
    ///
    /// # Errors
    /// The database. Where the file system has no locks, everything ends by its time.
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

    /// Takes the worker's seat, if it is free; on SQLite the leases of runs end with that.
    /// Whoever takes a run then does so under a new epoch, so that even a worker that is not
    /// as dead as its lock writes nothing any more.
    ///
    /// # Errors
    /// The database. Where the file system has no locks the seat is everybody's, and leases
    /// run out by their time.
    pub async fn take_seat(&self) -> Result<Seating, StoreError> {
        let Db::Lite(lite) = &self.db else {
            return Ok(Seating::Ours(WorkerSeat { _lock: None }));
        };
        let mut file = match lite.presence.open(".worker.lock") {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(Seating::Ours(WorkerSeat { _lock: None })),
            Err(error) => {
                no_locks(&error)?;
                return Ok(Seating::Ours(WorkerSeat { _lock: None }));
            }
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut left = String::new();
                let _ = file.read_to_string(&mut left);
                return Ok(Seating::Taken(left.trim().parse().ok()));
            }
            Err(TryLockError::Error(error)) => {
                no_locks(&error)?;
                return Ok(Seating::Ours(WorkerSeat { _lock: None }));
            }
        }
        // Only shown to people; the lock decides.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = writeln!(file, "{}", std::process::id());
        self.end_leases().await?;
        Ok(Seating::Ours(WorkerSeat { _lock: Some(file) }))
    }

    async fn end_leases(&self) -> Result<(), StoreError> {
        transact!(self.db, tx => sql::runs::end_leases(tx).await)
    }

    async fn end_what_was_held(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sql::reservations::delete_all(tx).await?;
            sql::mail::end_claims(tx, now).await?;
            sql::idempotency::end_unanswered(tx).await
        })
    }
}

/// Some network file systems have no locks: then leases and claims run out by their time.
fn no_locks(error: &std::io::Error) -> Result<(), StoreError> {
    tracing::warn!(%error, "cannot lock the files beside the database; what a process that \
        died was working on waits until its lease runs out");
    Ok(())
}
