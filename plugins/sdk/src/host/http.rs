//! HTTP through the host: its guard, robots.txt, limits, quota and billing. Permission
//! `http` (host patterns).

use std::time::Duration;

use crate::{Error, Header, Page};

/// A request in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// GET, HEAD or POST.
    pub method: String,
    /// `http` or `https`, matched against the plugin's granted host patterns.
    pub url: String,
    /// Sent besides the host's own.
    pub headers: Vec<Header>,
    /// Sent with a POST.
    pub body: Option<Vec<u8>>,
    /// Follow redirects (each hop is judged again). Off: a 3xx is the answer. On at first.
    pub follow_redirects: bool,
    /// Ask robots.txt first; a refusal is [`Error::Denied`]. On at first.
    pub respect_robots: bool,
    /// Total time. `None`, or more than the host's limit, means the host's.
    pub timeout: Option<Duration>,
}

impl Request {
    /// A request without body.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            follow_redirects: true,
            respect_robots: true,
            timeout: None,
        }
    }

    /// A GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A HEAD request.
    pub fn head(url: impl Into<String>) -> Self {
        Self::new("HEAD", url)
    }

    /// A POST request with this body.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: Some(body.into()),
            ..Self::new("POST", url)
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push(Header::new(name, value));
        self
    }

    /// Sends it through one of the operator's proxy pools (`datacenter`, `isp`,
    /// `residential`, `mobile`). A pool that is not configured is [`Error::Denied`].
    pub fn proxy_pool(self, pool: &str) -> Self {
        self.header("orbweaver-proxy-pool", pool)
    }

    /// With [`proxy_pool`](Self::proxy_pool): through a proxy in this country (ISO 3166-1
    /// alpha-2).
    pub fn proxy_country(self, country: &str) -> Self {
        self.header("orbweaver-proxy-country", country)
    }

    /// Sets [`follow_redirects`](Self::follow_redirects).
    pub fn follow_redirects(mut self, follow: bool) -> Self {
        self.follow_redirects = follow;
        self
    }

    /// Sets [`respect_robots`](Self::respect_robots).
    pub fn respect_robots(mut self, respect: bool) -> Self {
        self.respect_robots = respect;
        self
    }

    /// Sets [`timeout`](Self::timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn timeout_ms(&self) -> Option<u32> {
        self.timeout
            .map(|t| u32::try_from(t.as_millis()).unwrap_or(u32::MAX))
    }
}

/// One request. Any HTTP status is an answer; [`Error::FetchFailed`] is for what brought
/// none. Calls run concurrently: [`join_all`](crate::join_all) awaits several.
pub async fn fetch(request: Request) -> Result<Page<'static>, Error> {
    super::backend::fetch(request).await
}

/// A GET request with everything else as the host does it.
pub async fn get(url: &str) -> Result<Page<'static>, Error> {
    fetch(Request::get(url)).await
}

/// Fetches several, at most `concurrency` at once (0: the host's choice); answers in the
/// order asked.
pub fn fetch_many(requests: Vec<Request>, concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    super::backend::fetch_many(requests, concurrency)
}
