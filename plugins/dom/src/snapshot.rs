//! The snapshot as two lists.

use std::fmt;

use crate::format::VERSION;
use crate::view::View;

/// An owned snapshot, as it crosses the sandbox's boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Records; see [`format`](mod@crate::format).
    pub words: Vec<u32>,
    /// Every string of the document.
    pub text: String,
}

impl Snapshot {
    /// A view of this snapshot. Fails if it is none, or of a version this crate does not read.
    pub fn view(&self) -> Result<View<'_>, SnapshotError> {
        View::new(&self.words, &self.text)
    }

    /// Memory the two lists take, in bytes.
    pub fn size(&self) -> usize {
        self.words.len() * size_of::<u32>() + self.text.len()
    }
}

/// Why two lists are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The first word is not a snapshot's.
    NotASnapshot,
    /// A version this crate does not read.
    Version(u32),
    /// The header promises more records than there are words.
    Truncated,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => write!(f, "not a DOM snapshot"),
            Self::Version(v) => write!(f, "DOM snapshot version {v}; this reads version {VERSION}"),
            Self::Truncated => write!(f, "DOM snapshot is cut short"),
        }
    }
}

impl std::error::Error for SnapshotError {}
