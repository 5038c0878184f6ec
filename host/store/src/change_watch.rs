//! Whether anything in the database has changed since the last look, so that tasks which wait
//! for work sleep while nothing happens, whichever process does it.
//!
//! One task per process looks, [`POLL_INTERVAL`] apart, and only from the first
//! [`Store::watch_changes`](crate::Store::watch_changes) on:
//!
//! - SQLite: `PRAGMA data_version` on a connection of its own, which changes with every commit of
//!   another connection, whichever process it belongs to
//!   (<https://sqlite.org/pragma.html#pragma_data_version>). Reading the database's files instead
//!   would be cheaper, but closing such a file releases the locks that SQLite holds on it in this
//!   process (<https://sqlite.org/howtocorrupt.html>, section 2.2).
//! - PostgreSQL: `pg_current_snapshot()`, which changes with every transaction that begins or
//!   ends writing: one query instead of one for each task that waits.
//!
//! Between two looks, notices of other nodes ([`notices`](crate::notices)) are told at once.
//!
//! Where neither can be had, every look counts as a change, so that work is found all the same.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::SqliteConnection;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::db::{Db, PROMPT, answered};
use crate::notices::{Notices, Topic};

/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Tells one task of changes. Each has its own.
#[derive(Debug)]
pub struct ChangeWatch(watch::Receiver<u64>);

impl ChangeWatch {
    /// Returns once the database may have changed since the last return, or since
    /// [`Store::watch_changes`](crate::Store::watch_changes); at once where it has. May return without a change.
    #[crate::boxed]
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
    /// The version that the asking connection sees.
    Version(i64),
    Snapshot(String),
    /// Commits of this process, where the database is in memory.
    Commits(u64),
    /// It cannot be told.
    Unknown,
}

/// The tasks that look and listen, and who is told.
#[derive(Debug)]
pub(crate) struct ChangeWatches {
    looking: OnceLock<Looking>,
    notices: Notices,
    /// The server to listen at, if not the one of the statements.
    direct: Option<PgConnectOptions>,
}

#[derive(Debug)]
struct Looking {
    beats: Arc<watch::Sender<u64>>,
    tasks: Vec<AbortHandle>,
}

impl ChangeWatches {
    /// Watches that listen at this server; `None`: where the statements go.
    pub(crate) fn new(direct: Option<PgConnectOptions>) -> Self {
        Self {
            looking: OnceLock::new(),
            notices: Notices::default(),
            direct,
        }
    }

    /// Changes from now on. Within a Tokio runtime.
    pub(crate) fn subscribe(&self, db: &Db) -> ChangeWatch {
        let looking = self.looking.get_or_init(|| {
            let beats = Arc::new(watch::Sender::new(0));
            let work = self.notices.of(Topic::Work).subscribe();
            let look = tokio::spawn(run(db.clone(), Arc::clone(&beats), work));
            let mut tasks = vec![look.abort_handle()];
            if let Db::Pg(pool) = db {
                let at = self.direct.clone();
                let at = at.unwrap_or_else(|| (*pool.connect_options()).clone());
                let listen = tokio::spawn(self.notices.clone().listen(pool.clone(), at));
                tasks.push(listen.abort_handle());
            }
            Looking { beats, tasks }
        });
        ChangeWatch(looking.beats.subscribe())
    }

    /// Notices of other nodes.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    pub(crate) fn stop(&self) {
        if let Some(looking) = self.looking.get() {
            looking.tasks.iter().for_each(AbortHandle::abort);
        }
    }
}

impl Drop for ChangeWatches {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(db: Db, beats: Arc<watch::Sender<u64>>, mut work: watch::Receiver<u64>) {
    let mut observer = None;
    let mut known = None;
    loop {
        let state = look(&db, &mut observer).await;
        // Nothing is known at the first look: what came before it may be news.
        if state == State::Unknown || known.as_ref() != Some(&state) {
            beats.send_modify(|beat| *beat += 1);
        }
        known = Some(state);
        // A notice that work has come is worth a look at once.
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            Ok(()) = work.changed() => {
                beats.send_modify(|beat| *beat += 1);
            }
        }
    }
}

/// Looks once. On a SQLite file `observer` is the connection that asks.
async fn look(db: &Db, observer: &mut Option<SqliteConnection>) -> State {
    match db {
        Db::Lite(lite) if lite.presence.file().is_some() => {
            let Some(connection) = observer else {
                // Versions of two connections cannot be compared, so the first look tells nothing.
                *observer = lite.read.acquire().await.ok().map(PoolConnection::detach);
                return State::Unknown;
            };
            let found = sqlx::query_scalar("PRAGMA data_version")
                .fetch_one(connection)
                .await;
            if found.is_err() {
                *observer = None;
            }
            found.map_or(State::Unknown, State::Version)
        }
        Db::Lite(lite) => State::Commits(lite.changes.load(Ordering::Acquire)),
        Db::Pg(pool) => {
            let snapshot = sqlx::query_scalar("SELECT CAST(pg_current_snapshot() AS TEXT)");
            let found = answered(PROMPT, async { Ok(snapshot.fetch_one(pool).await?) }).await;
            found.map_or(State::Unknown, State::Snapshot)
        }
    }
}
