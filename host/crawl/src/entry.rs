//! A URL of a run, and what fetching it came to.

use std::time::Duration;

use orbweaver_core::page::Links;
use orbweaver_fetch::FetchError;
use orbweaver_store::crawl::CrawledPage;
use orbweaver_urls::Resolved;

/// What politeness counts as one host: name and port.
pub(crate) fn host_key(url: &Resolved) -> String {
    let port = match url.port() {
        "" if url.scheme() == "https" => "443",
        "" => "80",
        port => port,
    };
    format!("{}:{port}", url.host())
}

/// A URL that waits to be fetched.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub seq: i64,
    pub url: String,
    pub hash: u64,
    pub depth: u32,
    /// Fetches that failed before.
    pub attempts: u32,
}

/// What became of a fetch.
pub(crate) struct Outcome {
    pub entry: Entry,
    /// Index of its host.
    pub host: usize,
    pub end: End,
    /// Requests that were made to the host besides the first.
    pub redirects: u32,
    /// Keys that were claimed on the way, its own excepted.
    pub chain: Vec<u64>,
}

/// How a fetch ended.
pub(crate) enum End {
    /// With a page.
    Page(Box<Fetched>),
    /// With a redirect to a page that another fetch has or makes.
    Merged(u64),
    /// Without an answer.
    Failed(FetchError),
    /// By a fault of ours.
    Broken(String),
}

/// A page and what it led to.
pub(crate) struct Fetched {
    pub row: CrawledPage,
    pub links: Links,
    /// Targets in scope: hash and the link's index.
    pub found: Vec<(u64, u32)>,
    pub out_of_scope: u64,
    pub excluded: u64,
    /// Where it was redirected to within the scope.
    pub redirect_to: Option<u64>,
    pub latency: Duration,
    /// What the server asked for.
    pub retry_after: Option<Duration>,
}
