//! Headers and cookies of the caller in a page, and what it waits for at the end.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::gate::Gate;
use super::render::RenderRequest;
use super::session::{SessionCookies, jar};
use super::steps::{PictureOptions, Viewport};
use super::tab::{Tab, Trouble};
use crate::cookies::CookieJar;
use crate::error::{Fault, Kind, SubKind};
use crate::hop_state::{given_cookies, is_cookie};

#[derive(Deserialize)]
struct Ignored {}

#[derive(Deserialize)]
struct Cookies {
    cookies: Vec<Map<String, Value>>,
}

/// Waits until an element matches, or says that the selector is invalid, or that none will match
/// because the document forbids scripts.
const FIND: &str = "new Promise((done) => {
  const find = () => { try { return Boolean(document.querySelector(SELECTOR)); } catch { return null; } };
  const first = find();
  if (first !== false) { done(first === null ? 'invalid' : 'found'); return; }
  if (matchMedia('(scripting: none)').matches) { done('never'); return; }
  const observer = new MutationObserver(() => {
    if (find()) { observer.disconnect(); done('found'); }
  });
  observer.observe(document, {subtree: true, childList: true, attributes: true});
})";

/// Largest name and value of a cookie together (RFC 6265bis, section 5.6), in bytes.
const MAX_COOKIE_BYTES: usize = 4_096;

/// Whether the browser accepts a cookie. It refuses all of a call for one that it does not.
fn is_accepted(name: &str, value: &str, secure: bool) -> bool {
    let lower = name.to_ascii_lowercase();
    let needs_https = lower.starts_with("__secure-") || lower.starts_with("__host-");
    name.len() + value.len() <= MAX_COOKIE_BYTES && (secure || !needs_https)
}

impl Tab {
    /// Gives the page its headers and cookies, before it is opened.
    pub(super) async fn equip(&self, request: &RenderRequest) -> Result<(), Trouble> {
        let extras = &request.extras;
        let session = Some(self.session.as_str());
        self.dress(&extras.picture).await?;
        if let Some(cookies) = &extras.session {
            self.enter(cookies).await?;
        }
        // Cookies in a header are set as cookies, too: as a header they would replace the page's own.
        let headers = extras.headers_of(&request.url);
        if let Some(cookies) = given_cookies(extras.cookies.as_deref(), headers) {
            let secure = request.url.starts_with("https:");
            let cookies: Vec<Value> = cookies
                .split(';')
                .filter_map(|pair| pair.trim().split_once('='))
                .map(|(name, value)| (name.trim(), value.trim()))
                .filter(|(name, value)| is_accepted(name, value, secure))
                .map(|(name, value)| {
                    json!({
                        "name": name,
                        "value": value,
                        "url": request.url,
                        "secure": secure,
                    })
                })
                .collect();
            let set = json!({"cookies": cookies});
            let _: Ignored = self
                .connection
                .call(session, "Network.setCookies", set)
                .await?;
        }
        let mut others = extras.clone();
        others.headers.retain(|header| !is_cookie(header));
        let gate = extras.may_request.clone().map(|may| Gate {
            own: request.url.clone(),
            may,
            connection: self.connection.clone(),
            session: self.session.clone(),
            watch: Arc::downgrade(&self.watch),
            asked: 0,
        });
        let stopped = match (others.headers.is_empty(), &gate) {
            (true, None) => return Ok(()),
            (true, Some(_)) => json!({"urlPattern": "*", "resourceType": "Document"}),
            (false, _) => json!({"urlPattern": "*"}),
        };
        self.watch.with(|state| {
            state.gate = gate;
            state.extras = (!others.headers.is_empty()).then_some(others);
        });
        let enable = json!({"patterns": [stopped]});
        let _: Ignored = self
            .connection
            .call(session, "Fetch.enable", enable)
            .await?;
        Ok(())
    }

    /// Sets the size of the window, and the colours that the visitor prefers.
    async fn dress(&self, options: &PictureOptions) -> Result<(), Trouble> {
        let session = Some(self.session.as_str());
        if let Some(Viewport { width, height }) = options.viewport {
            let metrics =
                json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
            let _: Ignored = self
                .connection
                .call(session, "Emulation.setDeviceMetricsOverride", metrics)
                .await?;
        }
        if let Some(is_dark) = options.dark_mode {
            let value = if is_dark { "dark" } else { "light" };
            let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
            let _: Ignored = self
                .connection
                .call(session, "Emulation.setEmulatedMedia", media)
                .await?;
        }
        Ok(())
    }

    /// Waits for the caller's element, then for the caller's pause. Returns whether the element
    /// was there by the deadline.
    pub(super) async fn linger(
        &self,
        request: &RenderRequest,
        deadline: Instant,
    ) -> Result<bool, Trouble> {
        if let Some(selector) = &request.extras.selector {
            let Ok(found) = timeout_at(deadline, self.find(selector, request)).await else {
                return Ok(false);
            };
            if !found? {
                return Ok(false);
            }
            // The script that added the element may still be running.
            self.settle(request.wait_for, deadline).await?;
        }
        if let Some(pause) = request.extras.pause {
            sleep_until(deadline.min(Instant::now() + pause)).await;
            // Reports a crash, and a navigation that the guard refuses.
            let point = self.reach(request.wait_for);
            return match timeout_at(deadline, point).await {
                Ok(done) => done.map(|()| true),
                Err(_) => Ok(false),
            };
        }
        Ok(true)
    }

    /// Returns whether there is such an element.
    async fn find(&self, selector: &str, request: &RenderRequest) -> Result<bool, Trouble> {
        let script = FIND.replace("SELECTOR", &Value::from(selector).to_string());
        loop {
            self.reach(request.wait_for).await?;
            // Without a value, the document was replaced meanwhile.
            let answer: Option<String> = self.evaluate(&script).await.unwrap_or_default();
            match answer.as_deref() {
                Some("invalid") => {
                    return Err(Trouble::Fault(Fault::new(
                        Kind::InvalidRequest,
                        SubKind::Field,
                        "wait_for.selector: is not a valid CSS selector",
                    )));
                }
                Some(answer) => return Ok(answer == "found"),
                None => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    }

    /// Gives the page the session's cookies, before it is opened.
    async fn enter(&self, cookies: &SessionCookies) -> Result<(), Trouble> {
        let set = cookies.settable();
        if set.is_empty() {
            return Ok(());
        }
        let session = Some(self.session.as_str());
        let set = json!({ "cookies": set });
        let _: Ignored = self
            .connection
            .call(session, "Network.setCookies", set)
            .await?;
        Ok(())
    }

    /// Keeps the page's cookies for the session.
    pub(super) async fn leave(&self, cookies: &SessionCookies) -> Result<(), Trouble> {
        cookies.replace(self.cookies().await?);
        Ok(())
    }

    /// The page's cookies, for a fetch that goes on without the browser; the session keeps them,
    /// too.
    pub(super) async fn hand_over(&self, request: &RenderRequest) -> Result<CookieJar, Trouble> {
        let found = self.cookies().await?;
        let jar = jar(&found);
        if let Some(session) = &request.extras.session {
            session.replace(found);
        }
        Ok(jar)
    }

    async fn cookies(&self) -> Result<Vec<Map<String, Value>>, Trouble> {
        let context = json!({"browserContextId": self.context});
        let found: Cookies = self
            .connection
            .call(None, "Storage.getCookies", context)
            .await?;
        Ok(found.cookies)
    }
}
