//! What a plugin is called with, as it is written in a case file.

use orbweaver_engine::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a call: `input` for an actor; `domain`, `path` and `params` for a fetcher; a page for an
/// extractor, with `role` and `options`, and for a hook, with `config`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginCall {
    /// An actor's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// A fetcher's domain; the first of its manifest if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The part after a fetcher's domain, without a leading slash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A fetcher's parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// The page's URL. The page is fetched unless `html` names a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A file with the page's HTML, or another body, in the folder of the case or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// An extractor's role; its first one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// An extractor's options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    /// A hook's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// Number of links from the seed to a hook's page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl PluginCall {
    /// Fields that are given but mean nothing to a plugin of this kind.
    pub(crate) fn misplaced(&self, kind: Kind) -> Vec<&'static str> {
        let given = [
            ("input", self.input.is_some(), &[Kind::Actor][..]),
            ("domain", self.domain.is_some(), &[Kind::Fetcher]),
            ("path", self.path.is_some(), &[Kind::Fetcher]),
            ("params", self.params.is_some(), &[Kind::Fetcher]),
            ("url", self.url.is_some(), &[Kind::Extractor, Kind::Hook]),
            ("html", self.html.is_some(), &[Kind::Extractor, Kind::Hook]),
            ("role", self.role.is_some(), &[Kind::Extractor]),
            ("options", self.options.is_some(), &[Kind::Extractor]),
            ("config", self.config.is_some(), &[Kind::Hook]),
            ("depth", self.depth.is_some(), &[Kind::Hook]),
        ];
        given
            .into_iter()
            .filter(|(_, is_given, kinds)| *is_given && !kinds.contains(&kind))
            .map(|(name, ..)| name)
            .collect()
    }
}

/// A JSON object, empty if there is none.
pub(crate) fn object(value: Option<&Value>) -> Value {
    value.cloned().unwrap_or_else(|| Value::Object(Map::new()))
}
