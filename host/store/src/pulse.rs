//! Whether anything in the database has changed since the last look, so that tasks which wait
//! for work sleep while nothing happens, whichever process does it.
//!
//! One task per process looks, [`LOOK`] apart, and only from the first [`Store::pulse`] on:
//!
//! - SQLite: the header of the WAL-index (the file `-shm` beside the database), which counts
//!   transactions of every process (`iChange` and `mxFrame`, <https://sqlite.org/walformat.html>,
//!   section 2.1): one small read of a file, no query.
//! - PostgreSQL: `pg_current_snapshot()`, which changes with every transaction that begins or
//!   ends writing: one query instead of one for each task that waits.
//!
//! Where neither can be had, every look counts as a change, so that work is found all the same.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::db::{Db, Store};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Bytes of the WAL-index's header that describe its state: the first of two equal copies.
const HEADER: usize = 48;

/// Tells one task of changes. Each has its own.
#[derive(Debug)]
pub struct Pulse(watch::Receiver<u64>);

impl Pulse {
    /// Returns once the database may have changed since the last return, or since
    /// [`Store::pulse`]; at once where it has. May return without a change.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // The store is closed: nothing changes any more.
            std::future::pending().await
        }
    }
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Index([u8; HEADER]),
    Snapshot(String),
    /// Commits of this process, where the database is in memory.
    Commits(u64),
    /// It cannot be told.
    Unknown,
}

/// The task that looks, and who is told.
#[derive(Debug, Default)]
pub(crate) struct Pulses(OnceLock<Looking>);

#[derive(Debug)]
struct Looking {
    beats: Arc<watch::Sender<u64>>,
    task: AbortHandle,
}

impl Pulses {
    fn subscribe(&self, db: &Db) -> Pulse {
        let looking = self.0.get_or_init(|| {
            let beats = Arc::new(watch::Sender::new(0));
            let task = tokio::spawn(run(db.clone(), Arc::clone(&beats)));
            Looking {
                beats,
                task: task.abort_handle(),
            }
        });
        Pulse(looking.beats.subscribe())
    }

    pub(crate) fn stop(&self) {
        if let Some(looking) = self.0.get() {
            looking.task.abort();
        }
    }
}

impl Drop for Pulses {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Store {
    /// Changes from now on, by this process or another one. Within a Tokio runtime.
    pub fn pulse(&self) -> Pulse {
        self.pulses.subscribe(&self.db)
    }
}

async fn run(db: Db, beats: Arc<watch::Sender<u64>>) {
    let index = index_file(&db);
    let mut known = None;
    loop {
        let state = look(&db, index.as_deref()).await;
        // Nothing is known at the first look: what came before it may be news.
        if state == State::Unknown || known.as_ref() != Some(&state) {
            beats.send_modify(|beat| *beat += 1);
        }
        known = Some(state);
        tokio::time::sleep(LOOK).await;
    }
}

/// Where the WAL-index of a SQLite file is.
fn index_file(db: &Db) -> Option<PathBuf> {
    let Db::Lite(lite) = db else { return None };
    let mut name = lite.presence.file()?.as_os_str().to_owned();
    name.push("-shm");
    Some(name.into())
}

async fn look(db: &Db, index: Option<&Path>) -> State {
    match (db, index) {
        (Db::Lite(_), Some(index)) => header(index).map_or(State::Unknown, State::Index),
        (Db::Lite(lite), None) => {
            State::Commits(lite.changes.load(std::sync::atomic::Ordering::Acquire))
        }
        (Db::Pg(pool), _) => {
            let found = sqlx::query_scalar("SELECT CAST(pg_current_snapshot() AS TEXT)")
                .fetch_one(pool)
                .await;
            found.map_or(State::Unknown, State::Snapshot)
        }
    }
}

/// The header as it is now. Opened each time: the file goes with the database's last
/// connection, and another one comes with the next. In memory wherever WAL works, so the read
/// does not wait for a disk.
fn header(index: &Path) -> Option<[u8; HEADER]> {
    let mut header = [0; HEADER];
    let file = std::fs::File::open(index).ok()?;
    file.read_exact_at(&mut header, 0).ok()?;
    Some(header)
}
