//! The kinds of plugin.

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
    /// Decides what a crawl follows and stores.
    Hook,
}

impl Kind {
    /// Every kind, in the order in which they are loaded.
    pub const ALL: [Self; 4] = [Self::Extractor, Self::Hook, Self::Actor, Self::Fetcher];

    /// Lower-case name, as in manifests and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractor => "extractor",
            Self::Actor => "actor",
            Self::Fetcher => "fetcher",
            Self::Hook => "hook",
        }
    }

    /// Its name with the article: `an actor`.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Extractor => "an extractor",
            Self::Actor => "an actor",
            Self::Fetcher => "a fetcher",
            Self::Hook => "a hook",
        }
    }

    /// Prefix of file names of this kind: `extract-`, `actor-`, `site-`, `hook-`.
    pub const fn file_prefix(self) -> &'static str {
        match self {
            Self::Extractor => "extract-",
            Self::Actor => "actor-",
            Self::Fetcher => "site-",
            Self::Hook => "hook-",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
