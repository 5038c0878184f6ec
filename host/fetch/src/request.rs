//! The request of a fetch.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;

use crate::cookies::CookieJar;
use crate::proxy::ProxyUrl;

/// The verdict of a [`HopCheck`] on a redirect's target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HopVerdict {
    /// Follow it.
    Follow,
    /// Do not: the redirect itself is the response.
    Stop,
    /// Fail the fetch with this message.
    Refuse(String),
}

/// Judges the URL that a redirect points to, after the guard did.
pub type HopCheck = Arc<dyn Fn(&str) -> HopVerdict + Send + Sync>;

/// What happens to a body larger than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Oversize {
    /// The fetch fails.
    #[default]
    Fail,
    /// The body is cut and marked as truncated.
    Truncate,
}

/// A request. [`Request::get`] and struct update syntax make most of them.
#[derive(Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// An absolute URL.
    pub url: String,
    /// Headers on top of the usual ones; a name given here replaces the usual one. Those
    /// that frame the message (`host`, `content-length`, `connection` …) are refused.
    pub headers: Vec<(String, String)>,
    /// A cookie string, `k=v; k=v`, for the URL's own site.
    pub cookies: Option<String>,
    /// Where cookies set by responses are kept. Without one they live for this fetch, so
    /// that redirects which ask for their cookie back end.
    pub jar: Option<CookieJar>,
    /// The body.
    pub body: Option<Bytes>,
    /// What is sent as User-Agent: as chosen by
    /// [`user_agent`](crate::Fetcher::user_agent). `None`: a rotated browser's.
    pub user_agent: Option<String>,
    /// The proxy to go through.
    pub proxy: Option<ProxyUrl>,
    /// Follow redirects; else the redirect is the response.
    pub follow_redirects: bool,
    /// Redirects followed at the most; by default the configured limit.
    pub max_redirects: Option<u32>,
    /// Follow a Refresh header or a page's `meta` refresh too, as a redirect by GET.
    pub follow_refresh: bool,
    /// Obey robots.txt, for the URL and for every redirect.
    pub respect_robots: bool,
    /// The whole fetch; by default the configured limit.
    pub timeout: Option<Duration>,
    /// The body, decoded and as received; by default the configured limit.
    pub max_bytes: Option<u64>,
    /// What happens beyond [`max_bytes`](Self::max_bytes).
    pub oversize: Oversize,
    /// Only status and headers matter: the body is not read, and empty in the response.
    pub discard_body: bool,
    /// Judges redirects.
    pub hop_check: Option<HopCheck>,
}

impl Request {
    /// A GET that follows redirects.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url)
    }

    /// A request that follows redirects.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            cookies: None,
            jar: None,
            body: None,
            user_agent: None,
            proxy: None,
            follow_redirects: true,
            max_redirects: None,
            follow_refresh: false,
            respect_robots: false,
            timeout: None,
            max_bytes: None,
            oversize: Oversize::Fail,
            discard_body: false,
            hop_check: None,
        }
    }
}
