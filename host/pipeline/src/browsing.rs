//! Rendering options: the fields of requests that need a browser, and their rules.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use orbweaver_core::json_number::whole;
use orbweaver_core::render::WaitFor;
use orbweaver_fetch::{
    Action, PictureFormat, PictureOptions, Receives, RenderExtras, is_same_site, key_names,
};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use crate::invalid_field::InvalidField;
use crate::request_headers;

/// Longest pause after a page has loaded, in milliseconds.
const MAX_PAUSE_MS: u64 = 10_000;
/// Longest selector, in bytes.
const MAX_SELECTOR: usize = 1_024;
/// Most actions of a page, and how many of them may take a screenshot.
const MAX_ACTIONS: usize = 50;
const MAX_SCREENSHOTS: usize = 5;
/// Longest text that an action enters, in characters.
const MAX_TEXT: usize = 10_000;
/// Longest time that all waits of a page's actions may take together, in milliseconds.
const MAX_WAITS_MS: u64 = 30_000;
/// Longest name of a session, in characters.
const MAX_SESSION: usize = 64;
/// Sides of a window, in CSS pixels.
const SIDES: std::ops::RangeInclusive<u32> = 64..=4_096;

/// An event in the life of a rendered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = CrawlWait)]
pub struct WaitSpec {
    /// The event: `load` (default), `domcontentloaded` or `networkidle`.
    pub event: Option<WaitEvent>,
    /// A CSS selector that an element has to match. A page where none does is taken as it is
    /// when the time for rendering ends.
    #[schema(min_length = 1, max_length = 1_024)]
    pub selector: Option<String>,
    /// A pause after everything else, in milliseconds.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 10_000)]
    pub milliseconds: Option<u64>,
}

impl WaitSpec {
    /// The event to wait for.
    pub fn point(&self) -> WaitFor {
        self.event.map_or(WaitFor::Load, WaitFor::from)
    }
}

/// `wait_for` of a request: an event alone, or with more.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = CrawlWaitFor)]
pub enum WaitRequest {
    /// `load`, `domcontentloaded` or `networkidle`.
    Event(WaitEvent),
    /// More than an event.
    Spec(WaitSpec),
}

/// Read by hand: serde reads an untagged enum from a copy, and what is wrong or unknown in it has no path.
impl<'de> Deserialize<'de> for WaitRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EventOrSpec)
    }
}

struct EventOrSpec;

impl<'de> Visitor<'de> for EventOrSpec {
    type Value = WaitRequest;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "load, domcontentloaded, networkidle, or an object of event, selector and milliseconds",
        )
    }

    fn visit_str<E: Error>(self, event: &str) -> Result<WaitRequest, E> {
        WaitEvent::deserialize(StrDeserializer::<E>::new(event))
            .map(WaitRequest::Event)
            .map_err(|_| E::invalid_value(Unexpected::Str(event), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<WaitRequest, A::Error> {
        WaitSpec::deserialize(MapAccessDeserializer::new(members)).map(WaitRequest::Spec)
    }
}

impl WaitRequest {
    /// Checks the fields.
    ///
    /// # Errors
    /// The field and the rule.
    pub fn check(self) -> Result<WaitSpec, InvalidField> {
        let spec = match self {
            Self::Event(event) => WaitSpec {
                event: Some(event),
                ..WaitSpec::default()
            },
            Self::Spec(spec) => spec,
        };
        if let Some(selector) = &spec.selector {
            check_selector("wait_for.selector", selector)?;
        }
        if spec.milliseconds.is_some_and(|ms| ms > MAX_PAUSE_MS) {
            let rule = "must be between 0 and 10000";
            return Err(InvalidField::new("wait_for.milliseconds", rule));
        }
        Ok(spec)
    }
}

/// The fields of a request that need a browser.
#[derive(Debug, Default)]
pub struct BrowsingRequest {
    /// When the page counts as loaded.
    pub wait_for: Option<WaitRequest>,
    /// Headers.
    pub headers: Option<IndexMap<String, String>>,
    /// Cookies.
    pub cookies: Option<String>,
    /// What is done in the loaded page.
    pub actions: Option<Vec<Action>>,
    /// The name of a session.
    pub session: Option<String>,
    /// Options of screenshots.
    pub screenshot: Option<PictureOptions>,
}

/// How a page is rendered. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Browsing {
    /// When the page counts as loaded.
    pub wait: Option<WaitSpec>,
    /// Headers of requests to the page's own host.
    pub headers: Vec<(String, String)>,
    /// Cookies of the page's own host: `k=v; k=v`.
    pub cookies: Option<String>,
    /// What is done in the loaded page.
    pub actions: Vec<Action>,
    /// The name of the session whose cookies the page shares.
    pub session: Option<String>,
    /// Options of screenshots.
    pub picture: PictureOptions,
}

impl BrowsingRequest {
    /// The first field that has no effect without a browser; those of screenshots have one of
    /// their own.
    pub fn field(&self) -> Option<&'static str> {
        let given = [
            ("wait_for", self.wait_for.is_some()),
            ("headers", self.headers.is_some()),
            ("cookies", self.cookies.is_some()),
            ("actions", self.actions.is_some()),
            ("session", self.session.is_some()),
        ];
        given.into_iter().find(|(_, is)| *is).map(|(name, _)| name)
    }

    /// Checks the fields.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn check(self) -> Result<Browsing, InvalidField> {
        request_headers::cookies(self.cookies.as_deref())?;
        let actions = self.actions.unwrap_or_default();
        check_actions(&actions)?;
        check_session(self.session.as_deref())?;
        let picture = self.screenshot.unwrap_or_default();
        check_picture(&picture)?;
        Ok(Browsing {
            wait: self.wait_for.map(WaitRequest::check).transpose()?,
            headers: request_headers::headers(self.headers.unwrap_or_default())?,
            cookies: self.cookies,
            actions,
            session: self.session,
            picture,
        })
    }
}

impl Browsing {
    /// Whether it needs the page to be rendered.
    pub fn needs_browser(&self) -> bool {
        let picture = self.picture.clone();
        *self
            != Self {
                picture,
                ..Self::default()
            }
    }

    /// Whether its actions take screenshots, which are in no stored page.
    pub fn takes_screenshots(&self) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|action| matches!(action, Action::Screenshot {}))
    }

    /// The event to wait for; `default` where the request names none.
    pub fn point(&self, default: WaitFor) -> WaitFor {
        let wait = self.wait.as_ref();
        wait.map_or(default, WaitSpec::point)
    }

    /// What the browser gets for a page of this URL, without the session's cookies. Headers go to
    /// the URL's own host.
    pub fn extras(&self, url: &str) -> RenderExtras {
        let wait = self.wait.clone().unwrap_or_default();
        RenderExtras {
            headers: self.headers.clone(),
            receives: Some(own_site(url)),
            may_request: None,
            cookies: self.cookies.clone(),
            selector: wait.selector,
            pause: wait.milliseconds.map(Duration::from_millis),
            actions: self.actions.clone(),
            session: None,
            picture: self.picture.clone(),
        }
    }
}

/// Accepts URLs of this URL's site, as a plain request does after a redirect: https in place of http, but
/// not the other way.
fn own_site(url: &str) -> Receives {
    let own = Url::parse(url).ok();
    Receives(Arc::new(move |url| {
        let url = Url::parse(url).ok();
        let both = own.as_ref().zip(url.as_ref());
        both.is_some_and(|(own, url)| is_same_site(own, url))
    }))
}

fn check_selector(field: &str, selector: &str) -> Result<(), InvalidField> {
    if selector.trim().is_empty() || selector.len() > MAX_SELECTOR {
        return Err(InvalidField::new(field, "must be between 1 and 1024 bytes"));
    }
    Ok(())
}

/// Checks the name of a session.
///
/// # Errors
/// The field and the rule.
pub fn check_session(name: Option<&str>) -> Result<(), InvalidField> {
    let Some(name) = name else { return Ok(()) };
    let is_name = (1..=MAX_SESSION).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_name {
        return Ok(());
    }
    let rule = "must be 1 to 64 letters, digits, hyphens and underscores";
    Err(InvalidField::new("session", rule))
}

/// Checks the actions of a page.
///
/// # Errors
/// The field, such as `actions[2].selector`, and the rule.
pub fn check_actions(actions: &[Action]) -> Result<(), InvalidField> {
    if actions.len() > MAX_ACTIONS {
        let rule = format!("must be at most {MAX_ACTIONS} actions");
        return Err(InvalidField::new("actions", rule));
    }
    let (mut waits, mut screenshots) = (0, 0);
    for (index, action) in actions.iter().enumerate() {
        let field = |name: &str| format!("actions[{index}].{name}");
        let fault = |name: &str, rule: String| Err(InvalidField::new(&field(name), rule));
        match action {
            Action::Click { selector } => check_selector(&field("selector"), selector)?,
            Action::Type { selector, text } => {
                check_selector(&field("selector"), selector)?;
                if text.chars().count() > MAX_TEXT {
                    return fault("text", format!("must be at most {MAX_TEXT} characters"));
                }
            }
            Action::Press { key } => {
                if !key_names().any(|known| known == key) {
                    let names: Vec<&str> = key_names().collect();
                    return fault("key", format!("must be one of {}", names.join(", ")));
                }
            }
            Action::Scroll {
                direction,
                selector,
            } => {
                if let Some(selector) = selector {
                    check_selector(&field("selector"), selector)?;
                    if direction.is_some() {
                        let rule = "cannot be combined with selector".to_owned();
                        return fault("direction", rule);
                    }
                }
            }
            Action::Wait {
                milliseconds,
                selector,
            } => {
                if let Some(selector) = selector {
                    check_selector(&field("selector"), selector)?;
                } else if milliseconds.is_none() {
                    return fault("milliseconds", "is required without a selector".to_owned());
                }
                if milliseconds.is_some_and(|ms| !(1..=MAX_PAUSE_MS).contains(&ms)) {
                    return fault(
                        "milliseconds",
                        format!("must be between 1 and {MAX_PAUSE_MS}"),
                    );
                }
                waits += milliseconds.unwrap_or(0);
            }
            Action::Screenshot {} => screenshots += 1,
        }
    }
    if waits > MAX_WAITS_MS {
        let rule = format!("must wait at most {MAX_WAITS_MS} milliseconds together");
        return Err(InvalidField::new("actions", rule));
    }
    if screenshots > MAX_SCREENSHOTS {
        let rule = format!("must take at most {MAX_SCREENSHOTS} screenshots");
        return Err(InvalidField::new("actions", rule));
    }
    Ok(())
}

fn check_picture(picture: &PictureOptions) -> Result<(), InvalidField> {
    let fault =
        |name: &str, rule: &str| Err(InvalidField::new(&format!("screenshot.{name}"), rule));
    if let Some(viewport) = picture.viewport {
        let sides = [
            ("viewport.width", viewport.width),
            ("viewport.height", viewport.height),
        ];
        for (name, side) in sides {
            if !SIDES.contains(&side) {
                return fault(name, "must be between 64 and 4096");
            }
        }
    }
    if let Some(quality) = picture.quality {
        if !(1..=100).contains(&quality) {
            return fault("quality", "must be between 1 and 100");
        }
        if picture.format.unwrap_or_default() == PictureFormat::Png {
            return fault("quality", "needs format jpeg or webp");
        }
    }
    if let Some(selector) = &picture.selector {
        check_selector("screenshot.selector", selector)?;
        if picture.full_page.is_some() {
            return fault("full_page", "cannot be combined with selector");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
        for json in ["7", "\"idle\""] {
            let invalid = read(json).unwrap_err().to_string();
            assert!(
                invalid.contains("expected load, domcontentloaded"),
                "{invalid}"
            );
        }
        for (json, field) in [
            (r#"{"selector": " "}"#, "wait_for.selector"),
            (r#"{"milliseconds": 10001}"#, "wait_for.milliseconds"),
        ] {
            assert_eq!(read(json).unwrap().check().unwrap_err().field, field);
        }
    }

    #[test]
    fn an_action_that_breaks_a_rule_is_named_by_its_index() {
        let click = json!({"type": "click", "selector": "a"});
        let shots = vec![json!({"type": "screenshot"}); 6];
        let waits = vec![json!({"type": "wait", "milliseconds": 10_000}); 4];
        for (actions, field) in [
            (
                json!([click, {"type": "click", "selector": " "}]),
                "actions[1].selector",
            ),
            (
                json!([{"type": "type", "selector": "a", "text": "x".repeat(10_001)}]),
                "actions[0].text",
            ),
            (json!([{"type": "press", "key": "F1"}]), "actions[0].key"),
            (
                json!([{"type": "scroll", "selector": "a", "direction": "up"}]),
                "actions[0].direction",
            ),
            (json!([{"type": "wait"}]), "actions[0].milliseconds"),
            (
                json!([{"type": "wait", "milliseconds": 10_001}]),
                "actions[0].milliseconds",
            ),
            (json!(shots), "actions"),
            (json!(waits), "actions"),
            (json!(vec![click.clone(); 51]), "actions"),
        ] {
            let actions: Vec<Action> = serde_json::from_value(actions).unwrap();
            assert_eq!(check_actions(&actions).unwrap_err().field, field);
        }
        let script: Value = json!({"type": "evaluate", "script": "1"});
        assert!(serde_json::from_value::<Action>(script).is_err());
    }

    #[test]
    fn options_of_screenshots_have_bounds() {
        for (options, field) in [
            (
                json!({"viewport": {"width": 63, "height": 600}}),
                "screenshot.viewport.width",
            ),
            (
                json!({"format": "webp", "quality": 0}),
                "screenshot.quality",
            ),
            (json!({"quality": 80}), "screenshot.quality"),
            (
                json!({"selector": "a", "full_page": true}),
                "screenshot.full_page",
            ),
        ] {
            let options: PictureOptions = serde_json::from_value(options).unwrap();
            assert_eq!(check_picture(&options).unwrap_err().field, field);
        }
    }

    #[test]
    fn headers_go_to_the_pages_own_site_and_not_in_the_open() {
        let browsing = Browsing::default();
        for (page, url, is_own) in [
            ("https://a.example/x", "https://a.example/y", true),
            ("https://a.example/x", "https://b.example/", false),
            ("https://a.example/x", "https://a.example:8443/", false),
            ("https://a.example/x", "http://a.example/y", false),
            ("http://a.example/x", "https://a.example/y", true),
            ("http://a.example:81/x", "https://a.example/y", false),
        ] {
            let receives = browsing.extras(page).receives.unwrap();
            assert_eq!(receives.0(url), is_own, "{page} {url}");
        }
    }
}
