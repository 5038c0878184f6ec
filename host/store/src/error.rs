//! What can go wrong with a database, as callers need to tell it apart.

/// A failed store call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A unique name is taken; says which.
    #[error("{0} exists already")]
    Exists(&'static str),
    /// The database cannot be opened or brought up to date; says what to check.
    #[error("{0}")]
    Open(String),
    /// Stored data does not decode.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// The writer task has ended: the process is shutting down.
    #[error("the store is closed")]
    Closed,
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
}

impl StoreError {
    /// Whether a unique constraint refused the row.
    pub(crate) fn is_duplicate(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(error)) if error.is_unique_violation())
    }

    /// This error, or [`StoreError::Exists`] where a unique constraint caused it.
    pub(crate) fn or_exists(self, what: &'static str) -> Self {
        if self.is_duplicate() {
            Self::Exists(what)
        } else {
            self
        }
    }
}
