//! HTTP requests of plugins.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::CodedError;
use crate::grants::HostPatterns;
use crate::page::Page;

/// Sends HTTP requests of plugins.
#[async_trait]
pub trait HttpHost: Send + Sync {
    /// Sends one HTTP request.
    ///
    /// # Errors
    /// A [`CodedError`], which the plugin gets.
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError>;
}

/// One HTTP request of a plugin. The engine has checked the URL against the granted host patterns
/// and counted the request against the call's budget. The implementation is responsible for
/// guard, robots.txt, quota and billing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// `GET`, `HEAD` or `POST`.
    pub method: String,
    /// Absolute URL, http or https.
    pub url: String,
    /// Request headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body of a POST.
    pub body: Option<Vec<u8>>,
    /// If false, a 3xx is the answer. If true, every redirect is checked again; the
    /// implementation also checks it against [`allowed`](Self::allowed).
    pub follow_redirects: bool,
    /// Whether to obey robots.txt; a refusal is [`ErrorCode::Robots`](crate::ErrorCode::Robots).
    pub respect_robots: bool,
    /// Time limit in milliseconds, at most the call's own wall limit. The implementation may
    /// lower it to its own limit.
    pub timeout_ms: Option<u32>,
    /// Largest decoded body accepted, in bytes: the rest of the call's budget.
    pub max_bytes: u64,
    /// The operator's proxy pool to use; `None`: the project's own proxy.
    pub proxy: Option<ProxyChoice>,
    /// Secrets of the project to put into headers; the engine has checked the permission for their
    /// names. Redirects to hosts that a secret does not name must not be followed.
    pub secrets: Vec<SecretHeader>,
    /// The plugin's granted host patterns, for redirects.
    pub allowed: Arc<HostPatterns>,
}

/// A header whose value is a secret of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretHeader {
    /// The header's name.
    pub name: String,
    /// What stands before the value.
    pub prefix: String,
    /// The secret's name.
    pub secret: String,
}

/// A proxy pool chosen by a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyChoice {
    /// The pool's name, as the plugin wrote it.
    pub pool: String,
    /// ISO 3166-1 alpha-2 code, as the plugin wrote it.
    pub country: Option<String>,
}
