//! What a plugin may ask of its host. The engine defines it, the server implements it,
//! so that sockets, browser, database and quota stay out of the engine.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::HostError;
use crate::page::Page;

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
    /// Total time in milliseconds, at most the host's own limit.
    pub timeout_ms: Option<u32>,
    /// Largest decoded body accepted, in bytes: what is left of the call's budget.
    pub max_bytes: u64,
    /// Through which of the operator's proxies; none is the project's own way.
    pub proxy: Option<ProxyChoice>,
    /// The plugin's granted host patterns, for redirect hops.
    pub allowed: Arc<crate::grants::HostPatterns>,
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

/// When a rendered page counts as loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// The `load` event.
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No request for 500 ms.
    NetworkIdle,
}

/// A finished crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// The run's id.
    pub id: i64,
    /// Its seed.
    pub url: String,
    /// `done` or `failed`.
    pub status: String,
    /// Page rows.
    pub page_count: u64,
}

/// A page row of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// The row's id.
    pub id: i64,
    /// Normalised.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
}

/// Links of a batch of pages, one element of each column per link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkColumns {
    /// Page ids.
    pub from_page: Vec<i64>,
    /// The page of the same run that the link leads to, or -1.
    pub to_page: Vec<i64>,
    /// Index into `anchors`.
    pub anchor: Vec<u32>,
    /// Whether the link carries `rel=nofollow`.
    pub nofollow: Vec<bool>,
    /// Distinct anchor texts.
    pub anchors: Vec<String>,
    /// `after` of the next batch; none at the end.
    pub next: Option<i64>,
}

/// Severity of a plugin's log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Step by step.
    Trace,
    /// For the plugin's author.
    Debug,
    /// For the operator.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

/// The host of one actor or fetcher call: it knows the project that pays. All methods
/// have a refusing default, so that an implementation offers only what it has.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// One HTTP request.
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, HostError> {
        let _ = request;
        Err(HostError::Denied("this host offers no HTTP".to_owned()))
    }

    /// The page as it stands after its scripts ran.
    async fn render(&self, url: &str, wait_for: WaitFor) -> Result<Arc<Page>, HostError> {
        let _ = (url, wait_for);
        Err(HostError::Denied("this host offers no browser".to_owned()))
    }

    /// Another plugin's role on a page; `depth` is 1 for a call from an actor.
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
    ) -> Result<String, HostError> {
        let _ = (role, page, options);
        Err(HostError::Denied(
            "this host offers no extractors".to_owned(),
        ))
    }

    /// A finished run of the caller's project.
    async fn run(&self, id: i64) -> Result<RunInfo, HostError> {
        let _ = id;
        Err(HostError::Denied(
            "this host offers no crawl data".to_owned(),
        ))
    }

    /// Pages with an id above `after`, ascending, at most `limit`.
    async fn pages(&self, run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, HostError> {
        let _ = (run, after, limit);
        Err(HostError::Denied(
            "this host offers no crawl data".to_owned(),
        ))
    }

    /// Internal links of the next `pages` pages after `after`.
    async fn links(&self, run: i64, after: i64, pages: u32) -> Result<LinkColumns, HostError> {
        let _ = (run, after, pages);
        Err(HostError::Denied(
            "this host offers no crawl data".to_owned(),
        ))
    }

    /// A stored page with its body.
    async fn open_page(&self, page: i64) -> Result<Arc<Page>, HostError> {
        let _ = page;
        Err(HostError::Denied(
            "this host offers no crawl data".to_owned(),
        ))
    }
}

/// A host that offers nothing: extractors, self-tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

#[async_trait]
impl Host for NoHost {}
