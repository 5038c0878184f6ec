//! A URL of a run, and the result of fetching it.

use std::time::Duration;

use orbweaver_accounts::quota::Reservation;
use orbweaver_core::page::Links;
use orbweaver_fetch::FetchError;
use orbweaver_store::crawl::CrawledPage;
use orbweaver_urls::Resolved;

use crate::follow::LeftOut;
use crate::hooks::report::PluginReport;
use crate::hooks::verdict::Hooked;

/// The name and port that politeness counts as one host.
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
    /// Failed fetches so far.
    pub attempts: u32,
    /// Those of higher priority are fetched first.
    pub priority: i32,
}

/// The result of a fetch.
pub(crate) struct Outcome {
    pub entry: Entry,
    /// Index of its host.
    pub host: usize,
    pub end: End,
    /// Further requests made to the host, besides the first.
    pub redirects: u32,
    /// Keys claimed by redirects, without its own.
    pub chain: Vec<u64>,
    /// What plugins did to it.
    pub report: PluginReport,
}

/// How a fetch ended.
pub(crate) enum End {
    /// With a page.
    Page(Box<Fetched>),
    /// With a redirect to a page that another fetch has or is fetching.
    Merged(u64),
    /// Without a response.
    Failed(FetchError),
    /// With an internal error.
    Broken(String),
}

/// A page and the URLs that it leads to.
pub(crate) struct Fetched {
    pub row: CrawledPage,
    pub links: Links,
    /// Links in scope: hash of the target's key, and the link's index.
    pub found: Vec<(u64, u32)>,
    pub left_out: LeftOut,
    /// The target of a redirect within the scope.
    pub redirect_to: Option<u64>,
    /// The cloud page that a rendered page is billed to, where the run's own pages are not.
    pub cloud: Option<Reservation>,
    pub latency: Duration,
    /// The delay that the server requested.
    pub retry_after: Option<Duration>,
    /// What the run's hooks decided, if it has any.
    pub hooked: Option<Box<Hooked>>,
    /// What plugins did to the page.
    pub report: PluginReport,
}
