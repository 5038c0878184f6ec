//! The three kinds of plugin.

use serde::{Deserialize, Serialize};

/// The purpose of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Turns a page into data.
    Extractor,
    /// Does a task over pages that it asks the host for.
    Actor,
    /// Serves structured data for its domains.
    Fetcher,
}

impl Kind {
    /// Lower-case word, as in manifests and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractor => "extractor",
            Self::Actor => "actor",
            Self::Fetcher => "fetcher",
        }
    }

    /// Prefix of the kind's file names: `extract-`, `actor-`, `site-`.
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
