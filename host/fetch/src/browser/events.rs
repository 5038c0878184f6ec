//! The state of a page, derived from its events. Memory is bounded, since a page controls how
//! many events there are.

use std::collections::{HashMap, HashSet};

use orbweaver_core::limits::MAX_URL_BYTES;
use orbweaver_core::render::WaitFor;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::cdp::Listener;
use super::filter;
use super::gate::Gate;
use super::render::RenderExtras;
use super::request_headers::send_on;
use crate::error::Fault;
use crate::fetcher::Fetcher;
use crate::response::{Headers, Hop};

/// Documents of the main frame that are remembered, including redirects by script.
const MAX_DOCUMENTS: usize = 32;
/// Maximum number of open requests that are tracked.
const MAX_BUSY: usize = 1_024;
/// Chromium's error of a request that the page or the browser itself has ended: a script stopped or left
/// the document, or the browser would save it.
pub(super) const ABORTED: &str = "net::ERR_ABORTED";
/// Resources that a page's content may depend on; not images, media, fonts, nor connections
/// that stay open.
const CONTENT: [&str; 6] = [
    "Document",
    "Script",
    "Stylesheet",
    "XHR",
    "Fetch",
    "Preflight",
];

/// The answer to a document's request.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub request: String,
    pub status: u16,
    pub headers: Headers,
    pub mime: String,
    /// The response is from the filter, not from the site.
    pub ours: bool,
}

#[derive(Clone, Debug, Default)]
struct Document {
    fired: [bool; 3],
    answer: Option<Answer>,
    failed: Option<String>,
}

/// The state of the main frame.
#[derive(Debug, Default)]
pub(super) struct State {
    pub frame: Option<String>,
    /// The loader id of the current document.
    pub loader: Option<String>,
    pub url: String,
    /// The URL of a navigation that has begun but has no document yet.
    pub pending: Option<String>,
    /// Whether that navigation is one that the page has scheduled, as a refresh does, and has not begun.
    scheduled: bool,
    pub navigations: u32,
    pub redirects: Vec<Hop>,
    pub refused: Option<Fault>,
    pub crashed: bool,
    pub closed: bool,
    /// Headers for some of the page's requests.
    pub extras: Option<RenderExtras>,
    /// Asks the caller before the page requests another document.
    pub gate: Option<Gate>,
    /// A navigation led to an error page; its URL.
    pub unreachable: Option<String>,
    /// Requests of the main frame so far that its content may depend on.
    pub begun: u64,
    /// Those of them that are open.
    busy: HashSet<String>,
    documents: HashMap<String, Document>,
}

impl State {
    /// The response of the current document.
    pub fn answer(&self) -> Option<&Answer> {
        let document = self.documents.get(self.loader.as_ref()?)?;
        document.answer.as_ref()
    }

    /// Whether the current document has reached this point.
    pub fn reached(&self, point: WaitFor) -> bool {
        let document = self.loader.as_ref().and_then(|id| self.documents.get(id));
        document.is_some_and(|document| document.fired.get(point as usize) == Some(&true))
    }

    /// Whether no open request of the main frame may affect its content.
    pub fn is_idle(&self) -> bool {
        self.busy.is_empty() && self.pending.is_none()
    }

    /// Whether waiting is useless.
    pub fn troubled(&self) -> bool {
        self.crashed || self.closed || self.refused.is_some() || self.unreachable.is_some()
    }

    /// Chromium's error text, if the current document ended before its end and nothing follows it. Its load
    /// event will not come.
    pub fn broken_off(&self) -> Option<&str> {
        let error = self.failure(self.loader.as_deref()?)?;
        (error != ABORTED && self.pending.is_none()).then_some(error)
    }

    /// Chromium's error text of a document's request.
    pub fn failure(&self, loader: &str) -> Option<&str> {
        self.documents.get(loader)?.failed.as_deref()
    }

    /// The current document loads nothing more. If a script stopped it, as one does that opens a download
    /// or a mail program, its events do not come.
    fn stopped(&mut self) {
        let document = self.loader.as_ref();
        if let Some(document) = document.and_then(|id| self.documents.get_mut(id))
            && document.fired.get(WaitFor::Load as usize) == Some(&false)
        {
            document.fired = [true; 3];
        }
    }

    /// The main frame shows this URL now. A script may give its document one that is longer than any that is
    /// fetched, or replace it by what it has made (`blob:`): then the page is where it was.
    fn moved(&mut self, url: String) {
        let is_web = url.starts_with("http:") || url.starts_with("https:");
        if is_web && url.len() <= MAX_URL_BYTES {
            self.url = url;
        }
    }

    fn document(&mut self, loader: &str) -> &mut Document {
        if self.documents.len() >= MAX_DOCUMENTS && !self.documents.contains_key(loader) {
            let standing = self.loader.clone();
            self.documents.retain(|id, _| Some(id) == standing.as_ref());
        }
        self.documents.entry(loader.to_owned()).or_default()
    }

    fn is_main(&self, frame: Option<&str>) -> bool {
        self.frame.is_some() && self.frame.as_deref() == frame
    }
}

/// Listens to one page.
pub(super) struct Watch {
    fetcher: Fetcher,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lifecycle {
    frame_id: String,
    loader_id: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameInfo {
    id: String,
    loader_id: String,
    parent_id: Option<String>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    url_fragment: String,
    unreachable_url: Option<String>,
}

#[derive(Deserialize)]
struct Navigated {
    frame: FrameInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Within {
    frame_id: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requested {
    frame_id: String,
    url: String,
    disposition: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scheduled {
    frame_id: String,
    url: String,
    /// In seconds.
    delay: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameOnly {
    frame_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WillBeSent {
    #[serde(default)]
    request_id: String,
    loader_id: String,
    frame_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    request: UrlOnly,
    redirect_response: Option<ResponseInfo>,
}

#[derive(Deserialize)]
struct UrlOnly {
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseInfo {
    url: String,
    status: f64,
    #[serde(default)]
    headers: serde_json::Map<String, Value>,
    #[serde(default)]
    mime_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    request_id: String,
    loader_id: String,
    frame_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    response: ResponseInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadingFinished {
    request_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadingFailed {
    request_id: String,
    error_text: String,
}

impl Watch {
    /// For a page that has not navigated yet.
    pub fn new(fetcher: Fetcher) -> Self {
        Self {
            fetcher,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Calls `look` with the state locked.
    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// Ends the render, as the page leads to what it may not request.
    pub fn refuse(&self, fault: Fault) {
        self.state.lock().refused.get_or_insert(fault);
        self.changed.notify_waiters();
    }

    /// Waits until `look` returns a value.
    pub async fn until<T>(&self, mut look: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            if let Some(found) = look(&self.state.lock()) {
                return found;
            }
            changed.await;
        }
    }

    fn apply(&self, method: &str, params: &str) -> Option<()> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        match method {
            "Page.lifecycleEvent" => {
                let event: Lifecycle = read(params)?;
                let point = match event.name.as_str() {
                    "load" => WaitFor::Load,
                    "DOMContentLoaded" => WaitFor::DomContentLoaded,
                    "networkIdle" => WaitFor::NetworkIdle,
                    _ => return None,
                };
                if state.is_main(Some(&event.frame_id)) {
                    let document = state.document(&event.loader_id);
                    *document.fired.get_mut(point as usize)? = true;
                }
            }
            "Page.frameNavigated" => {
                let Navigated { frame } = read(params)?;
                if frame.parent_id.is_none() && state.is_main(Some(&frame.id)) {
                    state.document(&frame.loader_id);
                    // The old document's requests end with it; the new one's own has its id.
                    state.busy.retain(|request| *request == frame.loader_id);
                    state.loader = Some(frame.loader_id);
                    state.pending = None;
                    state.scheduled = false;
                    state.navigations += 1;
                    state.unreachable = frame.unreachable_url;
                    state.moved(frame.url + &frame.url_fragment);
                }
            }
            "Page.navigatedWithinDocument" => {
                let event: Within = read(params)?;
                if state.is_main(Some(&event.frame_id)) {
                    if state.pending.as_ref() == Some(&event.url) {
                        state.pending = None;
                    }
                    state.moved(event.url);
                }
            }
            "Page.frameRequestedNavigation" => {
                let event: Requested = read(params)?;
                let here = event
                    .disposition
                    .as_deref()
                    .is_none_or(|at| at == "currentTab");
                if here && state.is_main(Some(&event.frame_id)) && event.url.starts_with("http") {
                    state.pending = Some(event.url);
                    state.scheduled = false;
                }
            }
            "Page.frameScheduledNavigation" => {
                let event: Scheduled = read(params)?;
                let is_due = event.delay < 1.0;
                if is_due && state.is_main(Some(&event.frame_id)) && event.url.starts_with("http") {
                    state.pending = Some(event.url);
                    state.scheduled = true;
                }
            }
            // Given up, or begun, of which another event tells before.
            "Page.frameClearedScheduledNavigation" => {
                let event: FrameOnly = read(params)?;
                if state.is_main(Some(&event.frame_id)) && std::mem::take(&mut state.scheduled) {
                    state.pending = None;
                }
            }
            "Page.frameStoppedLoading" => {
                let event: FrameOnly = read(params)?;
                if state.is_main(Some(&event.frame_id)) && state.pending.is_none() {
                    state.stopped();
                }
            }
            "Network.requestWillBeSent" => self.request(state, read(params)?),
            "Network.responseReceived" => {
                let event: Received = read(params)?;
                if event.kind.as_deref() == Some("Document")
                    && state.is_main(event.frame_id.as_deref())
                {
                    let answer = Answer::new(event.request_id, event.response);
                    state.document(&event.loader_id).answer = Some(answer);
                }
            }
            "Network.loadingFinished" => {
                let event: LoadingFinished = read(params)?;
                if !state.busy.remove(&event.request_id) {
                    return None;
                }
            }
            "Network.loadingFailed" => {
                let event: LoadingFailed = read(params)?;
                state.busy.remove(&event.request_id);
                // A navigation's request has its document's id.
                if let Some(document) = state.documents.get_mut(&event.request_id) {
                    document.failed = Some(event.error_text);
                    if state.loader.as_ref() != Some(&event.request_id) {
                        state.pending = None;
                    }
                }
            }
            "Inspector.targetCrashed" => state.crashed = true,
            "Inspector.detached" => state.closed = true,
            _ => return None,
        }
        drop(guard);
        self.changed.notify_waiters();
        Some(())
    }

    /// The guard checks requests of the main frame as it checks redirects: a refused one ends
    /// the render, whatever the page does next.
    fn request(&self, state: &mut State, event: WillBeSent) {
        if !state.is_main(event.frame_id.as_deref()) {
            return;
        }
        let kind = event.kind.as_deref().unwrap_or_default();
        if CONTENT.contains(&kind) && state.busy.len() < MAX_BUSY {
            state.busy.insert(event.request_id);
            state.begun += 1;
        }
        if kind != "Document" {
            return;
        }
        let url = event.request.url;
        if url.starts_with("http")
            && let Err(refusal) = self.fetcher.judge(&url)
        {
            state.refused = Some(refusal.into());
        }
        state.document(&event.loader_id);
        match event.redirect_response {
            Some(response) if state.redirects.len() < MAX_DOCUMENTS => state.redirects.push(Hop {
                downgrade: response.url.starts_with("https:") && url.starts_with("http:"),
                status: status(response.status),
                url: response.url,
            }),
            _ => {}
        }
        state.pending = Some(url);
    }
}

impl Listener for Watch {
    fn event(&self, method: &str, params: &RawValue) -> Option<(&'static str, Value)> {
        if method == "Page.javascriptDialogOpening" {
            // An open dialog stops the page.
            return Some(("Page.handleJavaScriptDialog", json!({"accept": false})));
        }
        if method == "Fetch.requestPaused" {
            let state = &mut *self.state.lock();
            let (frame, extras) = (state.frame.as_deref(), state.extras.as_ref());
            let gate = state.gate.as_mut();
            if gate.is_some_and(|gate| gate.takes(params.get(), frame, extras)) {
                return None;
            }
            return send_on(params.get(), extras);
        }
        self.apply(method, params.get());
        None
    }

    fn closed(&self) {
        self.state.lock().closed = true;
        self.changed.notify_waiters();
    }
}

impl Answer {
    fn new(request: String, response: ResponseInfo) -> Self {
        let headers: Headers = response
            .headers
            .into_iter()
            .filter_map(|(name, value)| {
                Some((name.to_ascii_lowercase(), value.as_str()?.to_owned()))
            })
            // The browser joins repeated headers with newlines.
            .flat_map(|(name, values)| {
                let lines: Vec<_> = values.split('\n').map(str::to_owned).collect();
                lines.into_iter().map(move |value| (name.clone(), value))
            })
            .collect();
        Self {
            request,
            status: status(response.status),
            ours: headers.get(filter::OURS.as_str()).is_some(),
            headers,
            mime: response.mime_type,
        }
    }
}

fn read<'a, T: Deserialize<'a>>(params: &'a str) -> Option<T> {
    serde_json::from_str(params).ok()
}

fn status(number: f64) -> u16 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast saturates"
    )]
    let status = number as u16;
    status
}
