//! The request of a fetch.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use url::Url;

use crate::cookies::CookieJar;
use crate::proxy::ProxyUrl;
use crate::site::Personal;
use crate::traffic::Traffic;

/// What to do with a redirect, decided by a [`HopCheck`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HopVerdict {
    /// Follow it.
    Follow,
    /// Do not follow it: the redirect itself is the response.
    Stop,
    /// Fail the fetch with this message.
    Refuse(String),
}

/// Decides about a redirect target, after the guard accepted it.
pub type HopCheck = Arc<dyn Fn(&str) -> HopVerdict + Send + Sync>;

/// What the files of a URL's origin are asked for with.
pub type PersonalOf = Arc<dyn Fn(&Url) -> Personal + Send + Sync>;

/// What to do with a body larger than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Oversize {
    /// The fetch fails.
    #[default]
    Fail,
    /// The body is cut and marked as truncated.
    Truncate,
}

/// A request. Most are built with [`Request::get`] and struct update syntax.
#[derive(Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// An absolute URL.
    pub url: String,
    /// Additional headers; a name given here replaces the default one. Those that frame the
    /// message (`host`, `content-length`, `connection` …) are refused.
    pub headers: Vec<(String, String)>,
    /// A cookie string, `k=v; k=v`, for the URL's own site. Those of a `cookie` header join it.
    pub cookies: Option<String>,
    /// Jar for cookies set by responses. Without one, cookies last for this fetch only, which
    /// ends redirect loops that wait for a cookie.
    pub jar: Option<CookieJar>,
    /// The body.
    pub body: Option<Bytes>,
    /// User-Agent to send, handled as by [`user_agent`](crate::Fetcher::user_agent). `None`: a
    /// browser's, rotated.
    pub user_agent: Option<String>,
    /// The proxy to use.
    pub proxy: Option<ProxyUrl>,
    /// Whether to follow redirects; if not, the redirect is the response.
    pub follow_redirects: bool,
    /// Most redirects to follow; default: the configured limit.
    pub max_redirects: Option<u32>,
    /// Whether to follow a Refresh header or a page's `meta` refresh of at most 100 seconds too, at once,
    /// as a redirect by GET.
    pub follow_refresh: bool,
    /// Whether to obey robots.txt, for the URL and for every redirect.
    pub respect_robots: bool,
    /// What that robots.txt is asked for with; default: by the request's proxy, without headers.
    pub personal: Option<PersonalOf>,
    /// Time limit of the whole fetch; default: the configured limit.
    pub timeout: Option<Duration>,
    /// Longest wait for the head of the response, in which the request's body is sent; default: the configured
    /// limit.
    pub first_byte: Option<Duration>,
    /// Size limit of the body, decoded and as received; default: the configured limit.
    pub max_bytes: Option<u64>,
    /// What to do beyond [`max_bytes`](Self::max_bytes).
    pub oversize: Oversize,
    /// Whether to skip the body: the response has status and headers only.
    pub discard_body: bool,
    /// Decides about redirect targets.
    pub hop_check: Option<HopCheck>,
    /// Whether a redirect to a target that may not be fetched (another scheme, a private address …)
    /// is the response; otherwise the fetch fails.
    pub stops_at_refused: bool,
    /// Counts what arrives.
    pub traffic: Traffic,
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
            personal: None,
            timeout: None,
            first_byte: None,
            max_bytes: None,
            oversize: Oversize::Fail,
            discard_body: false,
            hop_check: None,
            stops_at_refused: false,
            traffic: Traffic::default(),
        }
    }

    /// With a time limit for a service that works before it answers: the head of its response may take all
    /// of that time.
    #[must_use]
    pub fn patient(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            first_byte: Some(timeout),
            ..self
        }
    }
}
