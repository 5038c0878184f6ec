//! The lock files of a SQLite database; [`worker_lock`](crate::worker_lock) says what they are for.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The lock files of a SQLite database, and the locks held by this process.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    /// Path of the database; `None` if it is in memory.
    file: Option<PathBuf>,
    held: Arc<Mutex<Option<File>>>,
}

impl Presence {
    /// For the database at `path`, which exists.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            // A symbolic link and its target are one database.
            file: path.canonicalize().ok(),
            held: Arc::default(),
        }
    }

    /// The database's file; none where it is in memory.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Releases all locks.
    pub(crate) fn leave(&self) {
        drop(self.hold(None));
    }

    /// Holds a lock file instead of the one held so far, which is returned.
    pub(crate) fn hold(&self, file: Option<File>) -> Option<File> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut held, file)
    }

    /// The lock file with this suffix, made where it is missing; `None` for a database in memory.
    pub(crate) fn open(&self, suffix: &str) -> std::io::Result<Option<File>> {
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
