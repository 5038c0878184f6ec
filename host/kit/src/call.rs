//! The arguments of a plugin's call, as they are written in a case file.

use orbweaver_engine::{HookPoint, Kind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a call: `input` for an actor; `domain`, `path` and `params` for a fetcher; a page for an
/// extractor, with `role` and `options`, and for a hook, with `config`; `event` and `payload` for a hook with
/// `deliver`, with `config`.
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
    /// The page's URL. The page is fetched unless `html` names a file. Of a hook with `deliver` the crawl's URL.
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
    /// The event of a webhook, for a hook with `deliver`; `crawl.done` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The payload of that webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

impl PluginCall {
    /// Fields that are given but mean nothing to a plugin of this kind, with these functions if it is a hook.
    pub(crate) fn misplaced(&self, kind: Kind, hooks: &[HookPoint]) -> Vec<&'static str> {
        let delivers = hooks.contains(&HookPoint::Deliver);
        let of_page = kind == Kind::Extractor || kind == Kind::Hook && !delivers;
        let of_kind = |one: Kind| kind == one;
        let given = [
            ("input", self.input.is_some(), of_kind(Kind::Actor)),
            ("domain", self.domain.is_some(), of_kind(Kind::Fetcher)),
            ("path", self.path.is_some(), of_kind(Kind::Fetcher)),
            ("params", self.params.is_some(), of_kind(Kind::Fetcher)),
            ("url", self.url.is_some(), of_page || delivers),
            ("html", self.html.is_some(), of_page),
            ("role", self.role.is_some(), of_kind(Kind::Extractor)),
            ("options", self.options.is_some(), of_kind(Kind::Extractor)),
            ("config", self.config.is_some(), of_kind(Kind::Hook)),
            (
                "depth",
                self.depth.is_some(),
                of_page && of_kind(Kind::Hook),
            ),
            ("event", self.event.is_some(), delivers),
            ("payload", self.payload.is_some(), delivers),
        ];
        given
            .into_iter()
            .filter(|(_, is_given, has_meaning)| *is_given && !has_meaning)
            .map(|(name, ..)| name)
            .collect()
    }
}

/// A JSON object, empty if there is none.
pub(crate) fn object(value: Option<&Value>) -> Value {
    value.cloned().unwrap_or_else(|| Value::Object(Map::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_has_a_page_or_a_payload() {
        let page = PluginCall {
            url: Some(String::new()),
            html: Some(String::new()),
            config: Some(Value::Null),
            depth: Some(1),
            ..PluginCall::default()
        };
        let payload = PluginCall {
            url: Some(String::new()),
            config: Some(Value::Null),
            event: Some(String::new()),
            payload: Some(Value::Null),
            ..PluginCall::default()
        };
        let misplaced = |call: &PluginCall, point| call.misplaced(Kind::Hook, &[point]);
        assert!(misplaced(&page, HookPoint::Record).is_empty());
        assert_eq!(misplaced(&page, HookPoint::Deliver), ["html", "depth"]);
        assert!(misplaced(&payload, HookPoint::Deliver).is_empty());
        assert_eq!(misplaced(&payload, HookPoint::Record), ["event", "payload"]);
        let of_actor = payload.misplaced(Kind::Actor, &[]);
        assert_eq!(of_actor, ["url", "config", "event", "payload"]);
    }
}
