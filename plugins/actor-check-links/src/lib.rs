//! The `check-links` actor: which links of a page, or of a list, are broken.
//!
//! A URL is asked for with HEAD, and with GET where the answer to HEAD is none or a refusal:
//! many servers answer HEAD wrongly. Redirects are followed. What robots.txt forbids, and
//! what is no `http` or `https` URL, is excluded and not asked for. A URL that stands there
//! twice is asked for once. Broken links that may only be refused to robots can be tried
//! again through a browser or a proxy.

mod plan;
mod probe;
mod retry;

use orbweaver_sdk::{Error, Page, http};
use serde::{Deserialize, Serialize};

pub use plan::{MAX_PAGE_LINKS, MAX_URLS, Plan};
pub use probe::{Status, Verdict};
pub use retry::MAX_RETRIES;

orbweaver_sdk::actor! { run: run }

/// Requests at once where the caller names no number.
pub const DEFAULT_CONCURRENT: u32 = 16;

/// What the caller gives: `url` or `urls`.
#[derive(Debug, Default, Deserialize)]
pub struct Input {
    /// The page whose links are checked.
    #[serde(default)]
    pub url: Option<String>,
    /// The links to check.
    #[serde(default)]
    pub urls: Option<Vec<String>>,
    /// Try broken links again by other means.
    #[serde(default)]
    pub cloud_retry: bool,
    /// By which.
    #[serde(default)]
    pub cloud_retry_mode: RetryMode,
    /// Of the proxies, which.
    #[serde(default)]
    pub proxy_pool: Option<String>,
    /// Requests at once, over all hosts and so to each.
    #[serde(default)]
    pub max_concurrent: Option<u32>,
}

/// How a broken link is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryMode {
    /// In the browser.
    #[default]
    Chrome,
    /// Through a proxy.
    Proxy,
}

/// What became of the links.
#[derive(Debug, Serialize)]
pub struct Output {
    /// The page that the links stand on; null for a list.
    pub source_url: Option<String>,
    /// Distinct links.
    pub total: u64,
    /// Links that work, recovered ones included.
    pub ok: u64,
    /// Links that do not.
    pub broken: u64,
    /// Links that were not asked for.
    pub excluded: u64,
    /// Broken links that were tried again.
    pub cloud_retried: u64,
    /// Those that worked then.
    pub cloud_recovered: u64,
    /// What that cost, in US dollars.
    pub cloud_cost_usd: f64,
    /// Distinct links of the page beyond the 1,000 that are checked.
    pub not_checked: u64,
    /// One per distinct link, in the order of their first appearance.
    pub items: Vec<Item>,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// As asked for: absolute, without its fragment; as written where it is no URL.
    pub url: String,
    /// The final answer's status; null where there was none.
    pub status_code: Option<u16>,
    /// What that means.
    pub status: Status,
    /// Broken at first, and not by other means.
    pub recovered_via_cloud: bool,
    /// Why it is broken or excluded.
    pub error: Option<String>,
    /// Where redirects led; null without one.
    pub redirected_to: Option<String>,
}

impl Item {
    fn new(url: String, verdict: Verdict) -> Self {
        Self {
            url,
            status_code: verdict.status_code,
            status: verdict.status,
            recovered_via_cloud: false,
            error: verdict.error,
            redirected_to: verdict.redirected_to,
        }
    }
}

/// Checks the links.
pub async fn run(input: Input) -> Result<Output, Error> {
    let width = input.max_concurrent.unwrap_or(DEFAULT_CONCURRENT).max(1) as usize;
    let (plan, source_url) = match (&input.url, &input.urls) {
        (Some(url), None) => {
            let page = source(url).await?;
            (Plan::of_page(&page)?, Some(page.final_url().to_owned()))
        }
        (None, Some(urls)) => (Plan::of_list(urls)?, None),
        (Some(_), Some(_)) => return Err(Error::invalid("urls: give url or urls, not both")),
        (None, None) => return Err(Error::invalid("url: is required, or urls")),
    };
    let verdicts = probe::all(&plan.entries, width).await;
    let mut items: Vec<Item> = plan
        .entries
        .into_iter()
        .zip(verdicts)
        .map(|(entry, verdict)| Item::new(entry.url, verdict))
        .collect();
    let retried = match input.cloud_retry {
        true => {
            let pool = input.proxy_pool.as_deref().unwrap_or("residential");
            retry::all(&mut items, input.cloud_retry_mode, pool, width).await
        }
        false => retry::Retried::default(),
    };
    let count = |status| items.iter().filter(|item| item.status == status).count() as u64;
    Ok(Output {
        source_url,
        total: items.len() as u64,
        ok: count(Status::Ok),
        broken: count(Status::Broken),
        excluded: count(Status::Excluded),
        cloud_retried: retried.tried,
        cloud_recovered: retried.recovered,
        cloud_cost_usd: retried.cost_usd,
        not_checked: plan.not_checked,
        items,
    })
}

/// The page whose links are checked. The caller names it, so that robots.txt, which speaks
/// to crawlers, is not asked; it is for every link.
async fn source(url: &str) -> Result<Page<'static>, Error> {
    let page = http::fetch(http::Request::get(url).respect_robots(false)).await?;
    match page.status() {
        200..=299 => Ok(page),
        status => Err(Error::FetchFailed(format!("{url} answered {status}"))),
    }
}
