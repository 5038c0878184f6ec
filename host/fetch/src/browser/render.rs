//! What is rendered, and what came of it.

use std::time::Duration;

use bytes::Bytes;
use orbweaver_core::render::WaitFor;

use crate::proxy::ProxyUrl;
use crate::response::Response;

/// A page to render.
#[derive(Clone, Debug)]
pub struct RenderRequest {
    /// Absolute, http or https.
    pub url: String,
    /// When it counts as loaded.
    pub wait_for: WaitFor,
    /// Sent as User-Agent; by default the browser's own.
    pub user_agent: Option<String>,
    /// The proxy that all of the page's requests go through.
    pub proxy: Option<ProxyUrl>,
    /// Also take a picture of the whole page.
    pub picture: bool,
    /// From opening the page to the event waited for; by default the configured time.
    pub timeout: Option<Duration>,
}

impl RenderRequest {
    /// A page that is loaded when its `load` event has fired.
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

/// A page after its scripts ran.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// As a fetch's response: the status and headers of the document, and as body its HTML
    /// in UTF-8 as it stood. `wire_bytes` counts all that the page loaded.
    pub response: Response,
    /// PNG, if asked for, or why there is none.
    pub picture: Option<Result<Bytes, String>>,
    /// The point of [`RenderRequest::wait_for`] was not reached in time.
    pub partial: bool,
}
