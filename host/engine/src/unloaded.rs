//! Plugins of projects that could not be loaded.
//!
//! Calls that such a plugin would serve fail, and say why: the instance's plugin of that name would do
//! something else than what the project has installed.

use crate::error::PluginError;
use crate::kind::Kind;
use crate::manifest::{FetcherInfo, Manifest};

/// What is known of a project's plugin that could not be loaded.
#[derive(Clone, Debug)]
pub(crate) struct Unloaded {
    /// Of an extractor.
    pub roles: Vec<String>,
    pub fetcher: Option<FetcherInfo>,
    reason: String,
}

impl Unloaded {
    /// One with this manifest.
    pub fn of(manifest: &Manifest, reason: &str) -> Self {
        Self {
            roles: manifest.roles.clone(),
            fetcher: manifest.fetcher.clone(),
            reason: reason.to_owned(),
        }
    }

    /// One of which nothing else is known: an extractor is taken to serve the role of its name.
    pub fn unknown(kind: Kind, name: &str, reason: &str) -> Self {
        let roles = match kind {
            Kind::Extractor => vec![name.to_owned()],
            Kind::Actor | Kind::Fetcher | Kind::Hook => Vec::new(),
        };
        Self {
            roles,
            fetcher: None,
            reason: reason.to_owned(),
        }
    }

    /// The same with another reason.
    pub fn because(self, reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            ..self
        }
    }

    /// The error of the calls that it would serve.
    pub fn error(&self, kind: Kind, name: &str) -> PluginError {
        PluginError::NotLoaded {
            kind: kind.as_str(),
            name: name.to_owned(),
            reason: self.reason.clone(),
        }
    }
}
