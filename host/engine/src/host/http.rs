//! HTTP requests of plugins.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::HostError;
use crate::grants::HostPatterns;
use crate::page::Page;

/// HTTP for plugins.
#[async_trait]
pub trait HttpHost: Send + Sync {
    /// One HTTP request.
    ///
    /// # Errors
    /// [`HostError`]: the plugin is told which.
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, HostError>;
}

/// One HTTP request of a plugin. The engine has matched the URL against the granted host
/// patterns and counted it against the call's budget; guard, robots, quota and billing
/// are the implementation's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// `GET`, `HEAD` or `POST`.
    pub method: String,
    /// Absolute, http or https.
    pub url: String,
    /// Request headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body of a POST.
    pub body: Option<Vec<u8>>,
    /// Off: a 3xx is the answer. On: every hop is judged again; the implementation also
    /// asks [`FetchRequest::may_visit`] of every hop.
    pub follow_redirects: bool,
    /// Ask robots.txt first; a refusal is [`HostError::Denied`].
    pub respect_robots: bool,
    /// Total time in milliseconds, at most the call's own wall limit. The implementation
    /// lowers it to its own limit.
    pub timeout_ms: Option<u32>,
    /// Largest decoded body accepted, in bytes: what is left of the call's budget.
    pub max_bytes: u64,
    /// The operator's proxy pool to use; none means the project's own proxy.
    pub proxy: Option<ProxyChoice>,
    /// The plugin's granted host patterns, for redirect hops.
    pub allowed: Arc<HostPatterns>,
}

impl FetchRequest {
    /// Whether the plugin's grants cover this URL.
    pub fn may_visit(&self, url: &str) -> bool {
        self.allowed.allows(url)
    }
}

/// A proxy pool that a plugin asks for, with the request headers `orbweaver-proxy-pool` and
/// `orbweaver-proxy-country`. They are no part of [`FetchRequest::headers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyChoice {
    /// The pool's name, as the plugin wrote it.
    pub pool: String,
    /// ISO 3166-1 alpha-2 code, as the plugin wrote it.
    pub country: Option<String>,
}
