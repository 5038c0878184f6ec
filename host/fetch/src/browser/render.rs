//! The request and the result of a render.

use std::time::Duration;

use bytes::Bytes;
use orbweaver_core::render::WaitFor;

use crate::proxy::ProxyUrl;
use crate::response::Response;

/// A page to render.
#[derive(Clone, Debug)]
pub struct RenderRequest {
    /// Absolute URL, http or https.
    pub url: String,
    /// Event after which the page counts as loaded.
    pub wait_for: WaitFor,
    /// User-Agent to send; default: the browser's own.
    pub user_agent: Option<String>,
    /// Proxy for all of the page's requests.
    pub proxy: Option<ProxyUrl>,
    /// Whether to take a screenshot of the whole page.
    pub picture: bool,
    /// Longest time from opening the page to the awaited event; default: the configured time.
    pub timeout: Option<Duration>,
}

impl RenderRequest {
    /// Renders a page until its `load` event.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            wait_for: WaitFor::Load,
            user_agent: None,
            proxy: None,
            picture: false,
            timeout: None,
        }
    }
}

/// A rendered page.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// In the form of a fetch's response: status and headers of the document; the body is its
    /// HTML after its scripts ran, in UTF-8. `wire_bytes` counts everything the page loaded.
    pub response: Response,
    /// The screenshot as PNG, if requested, or why there is none.
    pub picture: Option<Result<Bytes, String>>,
    /// Whether the time ran out before [`RenderRequest::wait_for`] was reached.
    pub partial: bool,
}
