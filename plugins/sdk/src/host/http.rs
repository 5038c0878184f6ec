//! HTTP through the host, with its guard, robots.txt, limits, quota and billing. Needs permission
//! `http` (host patterns).

use std::time::Duration;

use crate::{Error, Header, Page};

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// GET, HEAD or POST.
    pub method: String,
    /// Absolute `http` or `https` URL, which the plugin's granted host patterns must match.
    pub url: String,
    /// Headers in addition to the host's own.
    pub headers: Vec<Header>,
    /// Body of a POST.
    pub body: Option<Vec<u8>>,
    /// Whether to follow redirects (each is checked again); if not, a 3xx is the answer.
    /// Default: true.
    pub follow_redirects: bool,
    /// Whether to obey robots.txt; a refusal is
    /// [`Code::Robots`](crate::Code::Robots). Default: true.
    pub respect_robots: bool,
    /// Time limit. `None`, or more than the host's limit, means the host's limit.
    pub timeout: Option<Duration>,
    /// The proxy pool to use; `None`: none, or the project's own proxy.
    pub proxy: Option<Proxy>,
    /// Headers whose values are secrets of the caller's project; see
    /// [`secret_header`](Self::secret_header).
    pub secrets: Vec<SecretHeader>,
}

/// One of the operator's proxy pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// `datacenter`, `isp`, `residential` or `mobile`.
    pub pool: String,
    /// A country (ISO 3166-1 alpha-2).
    pub country: Option<String>,
}

/// A header whose value is a secret that the plugin names and never sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretHeader {
    /// The header's name.
    pub name: String,
    /// What stands before the value, such as `Bearer `.
    pub prefix: String,
    /// The secret's name in the project.
    pub secret: String,
}

impl Request {
    /// Creates a request without body.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            follow_redirects: true,
            respect_robots: true,
            timeout: None,
            proxy: None,
            secrets: Vec::new(),
        }
    }

    /// Creates a GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Creates a HEAD request.
    pub fn head(url: impl Into<String>) -> Self {
        Self::new("HEAD", url)
    }

    /// Creates a POST request with this body.
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

    /// Lets the host add a header with a secret of the caller's project, for hosts that the project has
    /// named for it. Needs permission `secrets`. Redirects to other hosts are not followed: the
    /// redirect is the answer.
    pub fn secret_header(mut self, name: &str, prefix: &str, secret: &str) -> Self {
        self.secrets.push(SecretHeader {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
            secret: secret.to_owned(),
        });
        self
    }

    /// Uses one of the operator's proxy pools (`datacenter`, `isp`, `residential`, `mobile`). A
    /// pool that is not configured is [`Code::NotConfigured`](crate::Code::NotConfigured).
    pub fn proxy_pool(mut self, pool: &str) -> Self {
        self.proxy.get_or_insert_default().pool = pool.to_owned();
        self
    }

    /// With [`proxy_pool`](Self::proxy_pool): uses a proxy in this country (ISO 3166-1
    /// alpha-2).
    pub fn proxy_country(mut self, country: &str) -> Self {
        self.proxy.get_or_insert_default().country = Some(country.to_owned());
        self
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
}

/// Sends one request. A response with any status is an answer; without a response the error is
/// one for which [`Error::is_fetch`] holds. Calls run concurrently: use
/// [`join_all`](crate::join_all) for several.
pub async fn fetch(request: Request) -> Result<Page<'static>, Error> {
    super::backend::fetch(request).await
}

/// Sends a GET request with default options.
pub async fn get(url: &str) -> Result<Page<'static>, Error> {
    fetch(Request::get(url)).await
}

/// Sends several requests, at most `concurrency` in parallel (0: the host's choice); the answers
/// are in the order of the requests.
pub fn fetch_many(requests: Vec<Request>, concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    super::backend::fetch_many(requests, concurrency)
}
