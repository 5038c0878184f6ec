//! Does a caller's actions in a loaded page, with the events of a real mouse and keyboard.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::render::RenderRequest;
use super::snapshot::Shot;
use super::steps::{Action, KEYS, ScrollDirection};
use super::tab::{Tab, Trouble};
use crate::error::{Fault, Kind, SubKind};

/// Time limit for all actions of a page.
const ALL: Duration = Duration::from_secs(60);
/// Time limit for an element to be there.
const ELEMENT: Duration = Duration::from_secs(10);
/// Time in which a click or a key begins a navigation.
const BEGIN: Duration = Duration::from_millis(100);
/// Most bytes of all screenshots of the actions.
const MAX_PICTURES: usize = 32 << 20;

/// Scrolls the first element that matches into view and returns the middle of it, once it is
/// visible and no longer moves: scrolling makes pages load and show more. In a document that forbids
/// scripts no timer runs, and nothing but styles moves.
const PLACE: &str = "new Promise((done) => {
  const start = Date.now();
  const inert = matchMedia('(scripting: none)').matches;
  let last;
  const look = () => {
    let element;
    try { element = document.querySelector(SELECTOR); } catch { done({fault: 'invalid'}); return; }
    if (element) {
      element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
      const box = element.getBoundingClientRect();
      if (box.width > 0 && box.height > 0) {
        const now = {x: box.x + box.width / 2, y: box.y + box.height / 2};
        if (inert || last && Math.abs(now.x - last.x) < 1 && Math.abs(now.y - last.y) < 1) { done(now); return; }
        last = now;
      }
    }
    if (inert || Date.now() - start > LIMIT) { done({fault: element ? 'hidden' : 'absent'}); return; }
    setTimeout(look, 50);
  };
  look();
})";

/// Scrolls the page.
const SCROLL: &str = "(() => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return false;
  const behavior = 'instant', direction = DIRECTION;
  if (direction === 'top') root.scrollTo({top: 0, behavior});
  else if (direction === 'bottom') root.scrollTo({top: root.scrollHeight, behavior});
  else root.scrollBy({top: (direction === 'up' ? -0.9 : 0.9) * innerHeight, behavior});
  return true;
})()";

#[derive(Deserialize)]
struct Ignored {}

/// Where an element is, or why it can't be used.
#[derive(Deserialize)]
struct Place {
    #[serde(default)]
    x: f64,
    #[serde(default)]
    y: f64,
    fault: Option<String>,
}

/// Why an action was not done.
enum Undone {
    /// Its field, and the rule.
    Wrong(&'static str, String),
    Trouble(Trouble),
}

impl From<Trouble> for Undone {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<super::cdp::CdpError> for Undone {
    fn from(error: super::cdp::CdpError) -> Self {
        Self::Trouble(error.into())
    }
}

impl Tab {
    /// Does the request's actions, one after the other; returns their screenshots.
    ///
    /// # Errors
    /// [`SubKind::Field`] names the action that could not be done.
    pub(super) async fn perform(&self, request: &RenderRequest) -> Result<Vec<Shot>, Trouble> {
        let deadline = Instant::now() + ALL;
        let mut pictures: Vec<Shot> = Vec::new();
        for (index, action) in request.extras.actions.iter().enumerate() {
            let done = timeout_at(deadline, self.act(action, request, deadline)).await;
            let done = done.unwrap_or_else(|_| {
                let limit = ALL.as_secs();
                Err(Undone::Wrong(
                    "",
                    format!("is not done within the {limit} seconds that all actions have"),
                ))
            });
            match done {
                Ok(picture) => pictures.extend(picture),
                Err(Undone::Trouble(trouble)) => return Err(trouble),
                Err(Undone::Wrong(field, rule)) => return Err(wrong(index, field, &rule)),
            }
            if pictures.iter().map(|shot| shot.bytes.len()).sum::<usize>() > MAX_PICTURES {
                let rule = "the screenshots of all actions are larger than 32 MiB";
                return Err(wrong(index, "", rule));
            }
        }
        Ok(pictures)
    }

    async fn act(
        &self,
        action: &Action,
        request: &RenderRequest,
        deadline: Instant,
    ) -> Result<Option<Shot>, Undone> {
        match action {
            Action::Click { selector } => {
                self.click(selector).await?;
                sleep(BEGIN).await;
            }
            Action::Type { selector, text } => {
                self.click(selector).await?;
                self.input("Input.insertText", json!({"text": text}))
                    .await?;
            }
            Action::Press { key } => {
                self.press(key).await?;
                sleep(BEGIN).await;
            }
            Action::Scroll {
                selector: Some(selector),
                ..
            } => {
                self.place(selector).await?;
            }
            Action::Scroll { direction, .. } => {
                let direction = match direction.unwrap_or_default() {
                    ScrollDirection::Down => "'down'",
                    ScrollDirection::Up => "'up'",
                    ScrollDirection::Bottom => "'bottom'",
                    ScrollDirection::Top => "'top'",
                };
                let script = SCROLL.replace("DIRECTION", direction);
                let _: Option<bool> = self.evaluate(&script).await?;
                sleep(BEGIN).await;
            }
            Action::Wait {
                milliseconds,
                selector,
            } => {
                if let Some(selector) = selector {
                    self.place(selector).await?;
                }
                sleep(Duration::from_millis(milliseconds.unwrap_or(0))).await;
            }
            Action::Screenshot {} => {
                return match self.picture(&request.extras.picture).await {
                    Ok(picture) => Ok(Some(picture)),
                    Err(Trouble::Fault(fault)) => Err(Undone::Wrong("", fault.message)),
                    Err(trouble) => Err(trouble.into()),
                };
            }
        }
        // The action may lead to another document, which the guard may refuse.
        self.reach(request.wait_for).await?;
        self.settle(request.wait_for, deadline).await?;
        Ok(None)
    }

    async fn click(&self, selector: &str) -> Result<(), Undone> {
        let Place { x, y, .. } = self.place(selector).await?;
        for (kind, button, buttons) in [
            ("mouseMoved", "none", 0),
            ("mousePressed", "left", 1),
            ("mouseReleased", "left", 0),
        ] {
            let event = json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1,
            });
            self.input("Input.dispatchMouseEvent", event).await?;
        }
        Ok(())
    }

    async fn press(&self, name: &str) -> Result<(), Undone> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return Err(Undone::Wrong(
                "key",
                "is not a key that is known".to_owned(),
            ));
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind,
                "key": if key.name == "Space" { " " } else { key.name },
                "code": key.code,
                "windowsVirtualKeyCode": key.number,
            });
            if kind == "keyDown" && !key.text.is_empty() {
                event["text"] = Value::from(key.text);
            }
            self.input("Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }

    async fn input(&self, method: &'static str, params: Value) -> Result<(), Undone> {
        let session = Some(self.session.as_str());
        let _: Ignored = self.connection.call(session, method, params).await?;
        Ok(())
    }

    /// The middle of the first element that matches, in the window's coordinates.
    async fn place(&self, selector: &str) -> Result<Place, Undone> {
        let limit = ELEMENT.as_millis().to_string();
        let script = PLACE
            .replace("LIMIT", &limit)
            .replace("SELECTOR", &Value::from(selector).to_string());
        let deadline = Instant::now() + ELEMENT + Duration::from_secs(1);
        loop {
            // Without a value, the document was replaced meanwhile.
            let found = timeout_at(deadline, self.evaluate::<Place>(&script)).await;
            let place = match found {
                Ok(place) => place.unwrap_or_default(),
                Err(_) => Some(Place {
                    x: 0.0,
                    y: 0.0,
                    fault: Some("absent".to_owned()),
                }),
            };
            let Some(place) = place else {
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            let seconds = ELEMENT.as_secs();
            let rule = match place.fault.as_deref() {
                None => return Ok(place),
                Some("invalid") => "is not a valid CSS selector".to_owned(),
                Some("hidden") => {
                    format!("matches only an element that is not visible within {seconds} seconds")
                }
                Some(_) => format!("matches no element of the page within {seconds} seconds"),
            };
            return Err(Undone::Wrong("selector", rule));
        }
    }
}

/// The failure of an action: its message begins with the field's path.
fn wrong(index: usize, field: &str, rule: &str) -> Trouble {
    let dot = if field.is_empty() { "" } else { "." };
    Trouble::Fault(Fault::new(
        Kind::InvalidRequest,
        SubKind::Field,
        format!("actions[{index}]{dot}{field}: {rule}"),
    ))
}
