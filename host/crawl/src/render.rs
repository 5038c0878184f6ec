//! Rendering in crawls: the options, and what a run learns about its hosts.

use std::collections::HashMap;

use orbweaver_core::render::WaitFor;
use orbweaver_pipeline::rules::InvalidField;
use orbweaver_urls::Resolved;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::entry::host_key;

/// Longest pause after a page has loaded, in milliseconds.
const MAX_PAUSE_MS: u64 = 10_000;
/// Longest selector, in bytes.
const MAX_SELECTOR: usize = 1_024;

/// Which pages of a crawl a browser renders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RenderMode {
    /// None.
    #[default]
    Never,
    /// Those whose content is made by scripts, and those that answer with a challenge.
    Auto,
    /// All.
    Always,
}

/// An event in the life of a rendered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CrawlWaitEvent)]
pub enum WaitEvent {
    /// The `load` event.
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No network request for half a second.
    NetworkIdle,
}

impl From<WaitEvent> for WaitFor {
    fn from(event: WaitEvent) -> Self {
        match event {
            WaitEvent::Load => Self::Load,
            WaitEvent::DomContentLoaded => Self::DomContentLoaded,
            WaitEvent::NetworkIdle => Self::NetworkIdle,
        }
    }
}

/// When a rendered page counts as loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CrawlWait)]
pub struct WaitSpec {
    /// The event: `load` (default), `domcontentloaded` or `networkidle`.
    pub event: Option<WaitEvent>,
    /// A CSS selector that an element has to match. A page where none does is stored as it is
    /// when the time for rendering ends.
    #[schema(max_length = 1_024)]
    pub selector: Option<String>,
    /// A pause after everything else, in milliseconds.
    #[schema(minimum = 0, maximum = 10_000)]
    pub milliseconds: Option<u64>,
}

/// `wait_for` of a request: an event alone, or with more.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "must be load, domcontentloaded, networkidle, or an object of event, selector and \
                 milliseconds"
)]
#[schema(as = CrawlWaitFor)]
pub enum WaitRequest {
    /// `load`, `domcontentloaded` or `networkidle`.
    Event(WaitEvent),
    /// More than an event.
    Spec(WaitSpec),
}

impl WaitRequest {
    /// Checks the fields.
    pub(crate) fn check(self) -> Result<WaitSpec, InvalidField> {
        let spec = match self {
            Self::Event(event) => WaitSpec {
                event: Some(event),
                ..WaitSpec::default()
            },
            Self::Spec(spec) => spec,
        };
        if let Some(selector) = &spec.selector
            && (selector.trim().is_empty() || selector.len() > MAX_SELECTOR)
        {
            let rule = "must be between 1 and 1024 bytes";
            return Err(InvalidField::new("wait_for.selector", rule));
        }
        if spec.milliseconds.is_some_and(|ms| ms > MAX_PAUSE_MS) {
            let rule = "must be between 0 and 10000";
            return Err(InvalidField::new("wait_for.milliseconds", rule));
        }
        Ok(spec)
    }
}

/// What a run has learnt about its hosts.
#[derive(Debug, Default)]
pub(crate) struct Rendering(Mutex<HashMap<String, HostPages>>);

/// Pages of a host that were fetched without a browser.
#[derive(Clone, Copy, Debug, Default)]
struct HostPages {
    /// Those that need a browser.
    shells: u32,
    /// The others.
    whole: u32,
}

impl Rendering {
    /// Whether a page is rendered without being fetched before: so far, every page of its host
    /// that was fetched needed a browser.
    pub(crate) fn is_first(&self, mode: RenderMode, url: &str) -> bool {
        match mode {
            RenderMode::Never => false,
            RenderMode::Always => true,
            RenderMode::Auto => {
                let hosts = self.0.lock();
                let known =
                    Resolved::parse(url).and_then(|url| hosts.get(&host_key(&url)).copied());
                known.is_some_and(|known| known.shells > 0 && known.whole == 0)
            }
        }
    }

    /// Counts a page that was fetched without a browser.
    pub(crate) fn note(&self, url: &str, needs_browser: bool) {
        let Some(url) = Resolved::parse(url) else {
            return;
        };
        let mut hosts = self.0.lock();
        let known = hosts.entry(host_key(&url)).or_default();
        match needs_browser {
            true => known.shells = known.shells.saturating_add(1),
            false => known.whole = known.whole.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_pages_all_need_a_browser_is_rendered_at_once() {
        let rendering = Rendering::default();
        let page = "https://e.org/a";
        assert!(rendering.is_first(RenderMode::Always, page));
        assert!(!rendering.is_first(RenderMode::Auto, page));
        rendering.note("https://e.org/", true);
        assert!(rendering.is_first(RenderMode::Auto, page));
        assert!(!rendering.is_first(RenderMode::Never, page));
        assert!(!rendering.is_first(RenderMode::Auto, "https://other.org/"));
        rendering.note("https://e.org/b", false);
        assert!(!rendering.is_first(RenderMode::Auto, page));
    }

    #[test]
    fn a_wait_is_an_event_or_an_object() {
        let read = |json: &str| serde_json::from_str::<WaitRequest>(json);
        let event = read("\"networkidle\"").unwrap().check().unwrap();
        assert_eq!(event.event, Some(WaitEvent::NetworkIdle));
        let spec = read(r##"{"selector": "#app p", "milliseconds": 200}"##).unwrap();
        let spec = spec.check().unwrap();
        assert_eq!(spec.selector.as_deref(), Some("#app p"));
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WaitSpec>(&json).unwrap(), spec);
        let invalid = read("7").unwrap_err().to_string();
        assert!(
            invalid.contains("must be load, domcontentloaded"),
            "{invalid}"
        );
        for (json, field) in [
            (r#"{"selector": " "}"#, "wait_for.selector"),
            (r#"{"milliseconds": 10001}"#, "wait_for.milliseconds"),
        ] {
            assert_eq!(read(json).unwrap().check().unwrap_err().field, field);
        }
    }
}
