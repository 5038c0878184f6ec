//! The `sitemap-audit` actor: what the URLs that a site's sitemaps list really answer.
//!
//! Sitemaps are found (robots.txt, then the usual places), indexes are followed one level,
//! and every listed URL is asked for once, without following redirects: a sitemap should
//! list pages that answer 200, may be indexed, and are their own canonical page. Pages are
//! read one after the other as they come, and only what the answer needs is kept.

mod bucket;
mod discover;
mod probe;

use std::time::{Duration, Instant};

use orbweaver_sdk::Error;
use serde::{Deserialize, Serialize};

pub use bucket::{Bucket, Item};
pub use discover::{Found, discover};

orbweaver_sdk::actor! { run: run }

/// URLs probed where the caller names no number, and at most.
pub const DEFAULT_URLS: u32 = 100;
/// See [`DEFAULT_URLS`].
pub const MAX_URLS: u32 = 50_000;

/// After this nothing more is asked for. Whoever calls the service waits for five minutes
/// by its defaults, and an audit that is cut off tells nothing of what it found.
const PATIENCE: Duration = Duration::from_secs(240);

/// What the caller gives.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// A site's page, or a sitemap.
    pub url: String,
    /// URLs probed, at most.
    #[serde(default)]
    pub max_urls: Option<u32>,
    /// Only find sitemaps and count their URLs.
    #[serde(default)]
    pub dry_run: bool,
}

/// What the sitemaps list, and what that answers.
#[derive(Debug, Default, Serialize)]
pub struct Output {
    /// Sitemaps read, indexes included.
    pub sitemaps_found: u64,
    /// Distinct URLs that they list.
    pub total_urls_in_sitemap: u64,
    /// URLs that were asked for.
    pub total_urls_probed: u64,
    /// URLs that would have been asked for, had there been time.
    pub not_probed: u64,
    /// Those that answered: what is billed.
    pub pages_billed: u64,
    /// URLs by bucket.
    pub summary: Summary,
    /// The sitemaps, and what is wrong with them.
    pub sitemaps: Vec<Sitemap>,
    /// One per probed URL, in the sitemaps' order.
    pub items: Vec<Item>,
}

/// A sitemap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sitemap {
    /// Where it is.
    pub url: String,
    /// Entries, of an index the sitemaps that it names.
    pub entries: u64,
    /// Why it could not be read, or not to its end.
    pub error: Option<String>,
}

/// URLs by bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// 200, indexable, its own canonical page.
    pub ok: u64,
    /// 3xx.
    pub redirect: u64,
    /// 4xx.
    pub client_error: u64,
    /// 5xx.
    pub server_error: u64,
    /// Not to be indexed.
    pub noindex: u64,
    /// Another URL is canonical.
    pub canonicalised_away: u64,
    /// No answer.
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

/// Finds the sitemaps and probes what they list.
pub async fn run(input: Input) -> Result<Output, Error> {
    run_within(input, PATIENCE).await
}

/// The same, with so much time to ask in.
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
