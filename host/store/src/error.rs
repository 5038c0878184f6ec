//! Errors of the store.

use orbweaver_blobs::BlobError;
use sqlx::error::DatabaseError;

/// Error of a store call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A unique name is taken; names it.
    #[error("{0} already exists")]
    Exists(&'static str),
    /// The database cannot be opened or migrated; says what to check.
    #[error("{0}")]
    Open(String),
    /// Stored data cannot be decoded.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// The writer task has ended: the process is shutting down.
    #[error("the store is closed")]
    Closed,
    /// The blob store failed, or lacks a body.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A fault of ours: the code of a statement panicked.
    #[error("a fault of the service")]
    Fault,
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
}

impl StoreError {
    /// Whether the same call may succeed later: the database or the blob store is unreachable,
    /// busy or full, and did not reject the data.
    pub fn is_transient(&self) -> bool {
        /// PostgreSQL's error classes of connection failures, rollbacks, insufficient resources and
        /// operator intervention, and its errors of a server that only reads, as after a failover, and of
        /// a session that it ended because this process stalled in a transaction;
        /// SQLite's busy, locked, read-only, I/O, full and cannot open.
        const CLASSES: [&str; 6] = ["08", "25006", "25P03", "40", "53", "57"];
        const SQLITE: [i32; 6] = [5, 6, 8, 10, 13, 14];
        match self {
            Self::Blobs(error) => error.is_transient(),
            Self::Database(sqlx::Error::Database(error)) => has_code(&**error, &SQLITE, &CLASSES),
            Self::Database(
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::WorkerCrashed,
            ) => true,
            _ => false,
        }
    }

    /// Whether the database takes no writes: its disk is full or fails, or it only reads.
    pub(crate) fn refuses_writes(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Database(error)) => {
                has_code(&**error, &[8, 10, 13, 14], &["25006", "53100"])
            }
            _ => false,
        }
    }

    /// Whether a unique constraint rejected the row.
    pub(crate) fn is_duplicate(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(error)) if error.is_unique_violation())
    }

    /// This error, or [`StoreError::Exists`] if a unique constraint caused it.
    pub(crate) fn or_exists(self, what: &'static str) -> Self {
        if self.is_duplicate() {
            Self::Exists(what)
        } else {
            self
        }
    }
}

/// Whether an error of a database has one of these codes: SQLite's primary ones, or the beginnings of
/// PostgreSQL's.
fn has_code(error: &dyn DatabaseError, lite: &[i32], postgres: &[&str]) -> bool {
    error.code().is_some_and(|code| match code.parse::<i32>() {
        // SQLite's extended codes contain the primary one in their low byte.
        Ok(number) if code.len() < 5 => lite.contains(&(number & 0xff)),
        _ => postgres.iter().any(|class| code.starts_with(class)),
    })
}
