//! Whether the database takes writes. Reads go on where its disk is full, its file system only reads or
//! PostgreSQL has become a replica, so an answer to a read does not tell. Each write tells; after one that
//! was refused, a small one tries at most every [`RETRY`] whether that has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::db::Db;
use crate::error::StoreError;
use crate::store::Store;

/// Time between two attempts to write.
const RETRY: Duration = Duration::from_secs(5);
/// The setting that an attempt writes.
const ATTEMPT: &str = "database.attempt";
/// Bytes of an attempt: a full disk often has room for one page.
const ATTEMPT_BYTES: usize = 64 << 10;

/// How the last writes went.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    refuses: AtomicBool,
    tried: Mutex<Option<Instant>>,
}

impl Refusals {
    /// Notes how a write went.
    pub(crate) fn note<T>(&self, written: &Result<T, StoreError>) {
        match written {
            Err(error) if error.refuses_writes() => {
                if !self.refuses.swap(true, Ordering::Relaxed) {
                    // It was an attempt, too.
                    self.is_due();
                }
            }
            // Each write comes here, so the flag is written only where it changes.
            Ok(_) if self.refuses.load(Ordering::Relaxed) => {
                self.refuses.store(false, Ordering::Relaxed);
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// Notes that a write was refused, if it was; that it could begin tells nothing.
    pub(crate) fn note_failure<T>(&self, begun: &Result<T, StoreError>) {
        if begun.is_err() {
            self.note(begun);
        }
    }

    /// Whether the last write was refused.
    fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    /// Whether it is time for an attempt, which the caller is to make.
    fn is_due(&self) -> bool {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = tried.is_none_or(|at| at.elapsed() >= RETRY);
        if is_due {
            *tried = Some(Instant::now());
        }
        is_due
    }
}

impl Store {
    /// Whether the database takes writes, as far as is known without writing: a write is tried only
    /// after one that was refused.
    ///
    /// # Errors
    /// When the database does not answer.
    #[crate::boxed]
    pub async fn takes_writes(&self) -> Result<bool, StoreError> {
        if let Db::Pg(pool) = &self.db {
            let only_reads =
                "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'";
            if sqlx::query_scalar(only_reads).fetch_one(pool).await? {
                return Ok(false);
            }
        }
        if !self.refusals.refuses() {
            return Ok(true);
        }
        if !self.refusals.is_due() {
            return Ok(false);
        }
        match self.try_write().await {
            Err(error) if error.refuses_writes() => Ok(false),
            tried => tried.map(|()| true),
        }
    }

    /// Writes what nobody reads.
    ///
    /// # Errors
    /// When the database cannot be written to.
    #[crate::boxed]
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let written = self.set_setting(ATTEMPT, &"-".repeat(ATTEMPT_BYTES)).await;
        self.refusals.note(&written);
        written?;
        self.set_setting(ATTEMPT, "").await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Lite, Options};

    /// Lets the connection that writes only read, and write again.
    async fn only_reads(lite: &Lite, on: bool) {
        let (turn, mut connection) = lite.write.acquire().await.unwrap();
        let pragma = match on {
            true => "PRAGMA query_only = on",
            false => "PRAGMA query_only = off",
        };
        sqlx::query(pragma).execute(&mut *connection).await.unwrap();
        turn.keep(connection);
    }

    #[tokio::test]
    async fn a_database_that_only_reads_is_known_from_the_first_write_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::sqlite(&folder.path().join("test.db"));
        let store = Store::open(&options).await.unwrap();
        let Db::Lite(lite) = store.db.clone() else {
            panic!("it is SQLite");
        };
        assert!(store.takes_writes().await.unwrap());
        only_reads(&lite, true).await;
        let error = store.set_setting("a", "1").await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(!store.takes_writes().await.unwrap());
        assert!(store.try_write().await.is_err());
        store.ping().await.unwrap();
        only_reads(&lite, false).await;
        // The refused write was an attempt: the next one is not due yet.
        assert!(!store.takes_writes().await.unwrap());
        *store.refusals.tried.lock().unwrap() = None;
        assert!(store.takes_writes().await.unwrap());
        store.try_write().await.unwrap();
        store.close().await;
    }
}
