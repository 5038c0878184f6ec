//! The request and the result of a render.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::render::WaitFor;

use super::events::Answer;
use super::gate::MayRequest;
use super::session::SessionCookies;
use super::steps::{Action, PictureOptions};
use crate::proxy::ProxyUrl;
use crate::response::{Headers, INCOMPLETE, Response};
use crate::traffic::Traffic;

/// Why a page that is returned as it is when the time for it ends is incomplete.
const OUT_OF_TIME: &str = "the time for rendering ended before what it waits for";

/// A page to render.
#[derive(Clone, Debug)]
pub struct RenderRequest {
    /// Absolute URL, http or https.
    pub url: String,
    /// Whose page it is.
    pub project: Option<ProjectId>,
    /// Event after which the page counts as loaded.
    pub wait_for: WaitFor,
    /// User-Agent to send; the browser's own by default, and in place of one that names this crawler.
    pub user_agent: Option<String>,
    /// Proxy for all of the page's requests.
    pub proxy: Option<ProxyUrl>,
    /// Whether to take a screenshot.
    pub picture: bool,
    /// What the page sends and waits for besides.
    pub extras: RenderExtras,
    /// Longest time from opening the page to the awaited event; default: the configured time.
    pub timeout: Option<Duration>,
    /// Counts what the page receives from the network.
    pub traffic: Traffic,
}

impl RenderRequest {
    /// Renders a page until its `load` event.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            project: None,
            wait_for: WaitFor::Load,
            user_agent: None,
            proxy: None,
            picture: false,
            extras: RenderExtras::default(),
            timeout: None,
            traffic: Traffic::default(),
        }
    }
}

/// What a page sends and waits for besides the usual.
#[derive(Clone, Default)]
pub struct RenderExtras {
    /// Headers of the requests to URLs that `receives` accepts, each of them again after a
    /// redirect; no headers that frame a message.
    pub headers: Vec<(String, String)>,
    /// Decides which URLs receive the headers; without it, none does.
    pub receives: Option<Receives>,
    /// Decides which documents the page may lead to. If it leads to another one, the error is
    /// [`Kind::Scope`](crate::Kind::Scope), and that one is not requested.
    pub may_request: Option<MayRequest>,
    /// Cookies of the page's own host: `k=v; k=v`. Those of a `cookie` header join them, if the page's
    /// URL receives headers. Those of an https page are not sent over http.
    pub cookies: Option<String>,
    /// A CSS selector: the page counts as loaded once an element matches it. If none does within
    /// the time limit, the page is returned as it is.
    pub selector: Option<String>,
    /// A pause after everything else.
    pub pause: Option<Duration>,
    /// What is done in the loaded page, in this order, within a minute. One that can't be done is
    /// an error of [`SubKind::Field`](crate::SubKind::Field).
    pub actions: Vec<Action>,
    /// Cookies that the page shares with other pages.
    pub session: Option<SessionCookies>,
    /// Options of screenshots; the size of the window and the colours hold without one, too.
    pub picture: PictureOptions,
}

impl RenderExtras {
    /// The headers that a request to this URL receives.
    pub(super) fn headers_of(&self, url: &str) -> &[(String, String)] {
        let receives = self.receives.as_ref();
        match receives.is_some_and(|receives| (receives.0)(url)) {
            true => &self.headers,
            false => &[],
        }
    }
}

impl fmt::Debug for RenderExtras {
    /// Omits headers and cookies, which may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderExtras")
            .field("selector", &self.selector)
            .field("pause", &self.pause)
            .field("actions", &self.actions.len())
            .finish_non_exhaustive()
    }
}

/// Decides whether a URL receives headers.
#[derive(Clone)]
pub struct Receives(pub Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for Receives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receives")
    }
}

/// Why there is no screenshot of a page.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoPicture {
    /// The page has not what the request asks for. The message names the field.
    #[error("{0}")]
    Field(String),
    /// It could not be taken.
    #[error("{0}")]
    Failed(String),
}

/// A rendered page.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// In the form of a fetch's response: status and headers of the document; the body is its
    /// HTML after its scripts ran, in UTF-8. `wire_bytes` counts everything the page loaded.
    pub response: Response,
    /// The screenshot, if requested, or why there is none.
    pub picture: Option<Result<Bytes, NoPicture>>,
    /// The screenshots of its actions.
    pub screenshots: Vec<Bytes>,
    /// Whether one of these shows only the beginning of what it is of; see [`CUT`](super::CUT).
    pub is_cut: bool,
    /// Whether the time ran out before [`RenderRequest::wait_for`] was reached; a header of the response
    /// says so, too ([`INCOMPLETE`]).
    pub partial: bool,
}

/// Whether a document of this type is HTML.
pub(super) fn is_html(mime: &str) -> bool {
    matches!(mime, "text/html" | "application/xhtml+xml" | "")
}

/// The document's headers, except those about its transfer; HTML is always UTF-8 here.
/// `reached`: whether what the page was to be waited for came in time.
pub(super) fn headers(answer: Answer, html: bool, reached: bool) -> Headers {
    let kept = answer
        .headers
        .iter()
        .filter(|(name, _)| {
            let framed = matches!(
                *name,
                "content-encoding" | "content-length" | "transfer-encoding" | INCOMPLETE
            );
            let replaced = html && *name == "content-type";
            !framed && !replaced
        })
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let content_type = html.then(|| {
        let mime = if answer.mime.is_empty() {
            "text/html"
        } else {
            &answer.mime
        };
        ("content-type".to_owned(), format!("{mime}; charset=utf-8"))
    });
    let mut headers: Headers = kept.chain(content_type).collect();
    if !reached {
        headers.say_incomplete(OUT_OF_TIME);
    }
    headers
}
