//! The `sitemap-audit` actor: checks the responses of the URLs that a site's sitemaps list.
//!
//! It finds the sitemaps (robots.txt, then the usual places), follows indexes one level deep, and
//! requests every listed URL once without following redirects: a sitemap should list pages that
//! respond with 200, may be indexed, and are their own canonical page. Pages are processed as they
//! arrive, and only the facts for the answer are kept.

mod bucket;
mod discover;
mod probe;

use std::time::{Duration, Instant};

use orbweaver_sdk::Error;
use serde::{Deserialize, Serialize};

pub use bucket::{Bucket, Item};
pub use discover::{Found, discover};

orbweaver_sdk::actor! { run: run }

/// Default number of URLs requested.
pub const DEFAULT_URLS: u32 = 100;
/// Most URLs requested.
pub const MAX_URLS: u32 = 50_000;

/// Time after which no more requests are started. Clients of the service wait for five minutes
/// by default, and an audit that is cut off loses its results.
const REQUESTS_TIMEOUT: Duration = Duration::from_secs(240);

/// The actor's input.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// URL of a site's page, or of a sitemap.
    pub url: String,
    /// Most URLs to request.
    #[serde(default)]
    pub max_urls: Option<u32>,
    /// Whether to only find sitemaps and count their URLs.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of the audit.
#[derive(Debug, Default, Serialize)]
pub struct Output {
    /// Number of sitemaps read, including indexes.
    pub sitemaps_found: u64,
    /// Number of distinct URLs that they list.
    pub total_urls_in_sitemap: u64,
    /// Number of URLs requested.
    pub total_urls_probed: u64,
    /// Number of URLs not requested: the time was over, or a cap or a budget was reached.
    pub not_probed: u64,
    /// Number of URLs that responded, which are billed.
    pub pages_billed: u64,
    /// Numbers of URLs by class.
    pub summary: Summary,
    /// The sitemaps and their errors.
    pub sitemaps: Vec<Sitemap>,
    /// One per requested URL, in the order of the sitemaps.
    pub items: Vec<Item>,
}

/// A sitemap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sitemap {
    /// Its URL.
    pub url: String,
    /// Number of entries; in an index, of sitemaps.
    pub entries: u64,
    /// Why it could not be read, or not completely.
    pub error: Option<String>,
}

/// Numbers of URLs by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Status 200, indexable, its own canonical page.
    pub ok: u64,
    /// 3xx.
    pub redirect: u64,
    /// 4xx.
    pub client_error: u64,
    /// 5xx.
    pub server_error: u64,
    /// Excluded from indexes.
    pub noindex: u64,
    /// Another canonical URL.
    pub canonicalised_away: u64,
    /// No response.
    pub network_error: u64,
}

impl Summary {
    fn add(&mut self, bucket: Bucket) {
        *match bucket {
            Bucket::Ok => &mut self.ok,
            Bucket::Redirect => &mut self.redirect,
            Bucket::ClientError => &mut self.client_error,
            Bucket::ServerError => &mut self.server_error,
            Bucket::Noindex => &mut self.noindex,
            Bucket::CanonicalisedAway => &mut self.canonicalised_away,
            Bucket::NetworkError => &mut self.network_error,
        } += 1;
    }
}

/// Finds the sitemaps and checks the URLs they list.
pub async fn run(input: Input) -> Result<Output, Error> {
    run_within(input, REQUESTS_TIMEOUT).await
}

/// Same as [`run`], with this much time for requests.
pub async fn run_within(input: Input, patience: Duration) -> Result<Output, Error> {
    let until = Instant::now() + patience;
    let limit = input.max_urls.unwrap_or(DEFAULT_URLS).clamp(1, MAX_URLS) as usize;
    let found = discover(&input.url, limit, until).await?;
    let mut output = Output {
        sitemaps_found: found
            .sitemaps
            .iter()
            .filter(|s| s.entries > 0 || s.error.is_none())
            .count() as u64,
        total_urls_in_sitemap: found.total,
        sitemaps: found.sitemaps,
        ..Output::default()
    };
    if input.dry_run {
        return Ok(output);
    }
    let asked_for = found.urls.len();
    output.items = probe::all(found.urls, until).await;
    output.not_probed = (asked_for - output.items.len()) as u64;
    output.total_urls_probed = output.items.len() as u64;
    for item in &output.items {
        output.summary.add(item.bucket);
        output.pages_billed += u64::from(item.status_code.is_some());
    }
    Ok(output)
}
