//! The three kinds of plugin.

use serde::{Deserialize, Serialize};

/// The kind of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Turns a page into data.
    Extractor,
    /// Performs a task on pages that it requests from the host.
    Actor,
    /// Returns structured data for its domains.
    Fetcher,
}

impl Kind {
    /// Lower-case name, as in manifests and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractor => "extractor",
            Self::Actor => "actor",
            Self::Fetcher => "fetcher",
        }
    }

    /// Prefix of file names of this kind: `extract-`, `actor-`, `site-`.
    pub const fn file_prefix(self) -> &'static str {
        match self {
            Self::Extractor => "extract-",
            Self::Actor => "actor-",
            Self::Fetcher => "site-",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
