//! The `check-links` actor: finds broken links of a page or of a list.
//!
//! A URL is requested with HEAD, and with GET if HEAD gets no response or is refused, because many
//! servers answer HEAD wrongly. Redirects are followed. URLs that robots.txt disallows, and URLs
//! other than `http` or `https`, are excluded and not requested. A repeated URL is requested once.
//! Broken links that may only be blocked for robots can be retried through a browser or a proxy.
//!
//! In a run in the background every link is an item, emitted when it has been checked; those of a
//! run with `cloud_retry` at its end.

mod plan;
mod probe;
mod retry;

use std::cell::Cell;
use std::time::{Duration, Instant};

use orbweaver_sdk::{Error, Page, http, job};
use serde::{Deserialize, Serialize};

pub use plan::{MAX_PAGE_LINKS, MAX_URLS, Plan};
pub use probe::{Status, Verdict};
pub use retry::MAX_RETRIES;

orbweaver_sdk::actor! { run: run }

/// Default number of parallel requests.
pub const DEFAULT_CONCURRENT: u64 = 16;
/// Most parallel requests; a greater number counts as this one.
pub const MAX_CONCURRENT: u64 = 50;

/// Time after which a call with a waiting client starts no more requests. Clients of the service wait
/// for five minutes by default, and a check that is cut off loses its results.
const REQUESTS_TIMEOUT: Duration = Duration::from_secs(240);
/// How much earlier no more pages are rendered: one may wait so long for the browser.
const BROWSER_QUEUE: Duration = Duration::from_secs(120);

/// The actor's input: `url` or `urls`.
#[derive(Debug, Default, Deserialize)]
pub struct Input {
    /// The page whose links are checked.
    #[serde(default)]
    pub url: Option<String>,
    /// The links to check.
    #[serde(default)]
    pub urls: Option<Vec<String>>,
    /// Whether to retry broken links by other means.
    #[serde(default)]
    pub cloud_retry: bool,
    /// Means of retries.
    #[serde(default)]
    pub cloud_retry_mode: RetryMode,
    /// Proxy pool of retries.
    #[serde(default)]
    pub proxy_pool: Option<String>,
    /// Parallel requests, over all hosts.
    #[serde(default)]
    pub max_concurrent: Option<u64>,
}

/// How a broken link is retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryMode {
    /// In the browser.
    #[default]
    Chrome,
    /// Through a proxy.
    Proxy,
}

/// The result of the check.
#[derive(Debug, Serialize)]
pub struct Output {
    /// The page that contains the links; null for a list.
    pub source_url: Option<String>,
    /// Status of its response; null for a list.
    pub source_status_code: Option<u16>,
    /// Number of distinct links that were checked.
    pub total: u64,
    /// Number of working links, including recovered ones.
    pub ok: u64,
    /// Number of broken links.
    pub broken: u64,
    /// Number of links that are not to be requested.
    pub excluded: u64,
    /// Number of broken links that were retried.
    pub cloud_retried: u64,
    /// Number of retried links that worked.
    pub cloud_recovered: u64,
    /// Cost of the retries in US dollars.
    pub cloud_cost_usd: f64,
    /// Number of distinct links that were not checked: those of the page beyond the first 1,000, and
    /// those not requested because the time was over, or a cap or a budget was reached.
    pub not_checked: u64,
    /// One per checked link, in the order of their first appearance.
    pub items: Vec<Item>,
}

/// One checked link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// The requested URL: absolute, without fragment; as written if it is not a URL.
    pub url: String,
    /// Status of the final response; null if there was none, or if it was too large to be read.
    pub status_code: Option<u16>,
    /// Its class.
    pub status: Status,
    /// Whether it was broken at first, but worked when retried.
    pub recovered_via_cloud: bool,
    /// Why it is broken or excluded.
    pub error: Option<String>,
    /// Final URL after redirects; null without redirects.
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
    // Nobody waits for the answer of a run in the background.
    let patience = job::context().run_id.is_none().then_some(REQUESTS_TIMEOUT);
    run_within(input, patience).await
}

/// Same as [`run`], with this much time for requests; `None`: as long as the call may take.
pub async fn run_within(input: Input, patience: Option<Duration>) -> Result<Output, Error> {
    let start = Instant::now();
    let until = patience.map(|patience| start + patience);
    let retry_until = match input.cloud_retry_mode {
        RetryMode::Chrome => {
            patience.map(|patience| start + patience.saturating_sub(BROWSER_QUEUE))
        }
        RetryMode::Proxy => until,
    };
    let width = input.max_concurrent.unwrap_or(DEFAULT_CONCURRENT);
    let width = width.clamp(1, MAX_CONCURRENT) as usize;
    let (plan, source) = match (&input.url, &input.urls) {
        (Some(url), None) => {
            // The caller asks for this page, so robots.txt does not apply to it; it applies to
            // every link. An error page has links, too: its status is told beside them.
            let page = http::fetch(http::Request::get(url).respect_robots(false)).await?;
            (Plan::of_page(&page)?, Some(page))
        }
        (None, Some(urls)) => (Plan::of_list(urls)?, None),
        (Some(_), Some(_)) => return Err(Error::invalid("urls: give url or urls, not both")),
        (None, None) => return Err(Error::invalid("url: is required, or urls")),
    };
    let findings = Findings::new(plan.entries.len());
    let verdicts = probe::all(&plan.entries, width, until, |at, verdict| {
        let entry = plan.entries.get(at).filter(|_| !input.cloud_retry);
        findings.found(entry.map(|entry| Item::new(entry.url.clone(), verdict.clone())))
    })
    .await?;
    let planned = plan.entries.len();
    let mut items: Vec<Item> = plan
        .entries
        .into_iter()
        .zip(verdicts)
        .filter_map(|(entry, verdict)| Some(Item::new(entry.url, verdict?)))
        .collect();
    let not_requested = (planned - items.len()) as u64;
    let retried = match input.cloud_retry {
        true => {
            let pool = input.proxy_pool.as_deref().unwrap_or("residential");
            retry::all(&mut items, input.cloud_retry_mode, pool, width, retry_until).await
        }
        false => retry::Retried::default(),
    };
    if input.cloud_retry {
        findings.emit_all(&items)?;
    }
    let count = |status| items.iter().filter(|item| item.status == status).count() as u64;
    Ok(Output {
        source_url: source.as_ref().map(|page| page.final_url().to_owned()),
        source_status_code: source.as_ref().map(Page::status),
        total: items.len() as u64,
        ok: count(Status::Ok),
        broken: count(Status::Broken),
        excluded: count(Status::Excluded),
        cloud_retried: retried.tried,
        cloud_recovered: retried.recovered,
        cloud_cost_usd: retried.cost_usd,
        not_checked: plan.not_checked + not_requested,
        items,
    })
}

/// Tells the caller of a run in the background what is found, before the whole is known.
struct Findings {
    in_background: bool,
    checked: Cell<u64>,
    total: u64,
}

impl Findings {
    fn new(total: usize) -> Self {
        Self {
            in_background: job::context().run_id.is_some(),
            checked: Cell::new(0),
            total: total as u64,
        }
    }

    /// One more link is checked; its item, if nothing can change it any more.
    fn found(&self, item: Option<Item>) -> Result<(), Error> {
        if !self.in_background {
            return Ok(());
        }
        let checked = self.checked.get() + 1;
        self.checked.set(checked);
        job::progress(checked, Some(self.total), "links checked");
        if job::is_cancelled() {
            return Err(Error::failed("the run was cancelled"));
        }
        match item {
            Some(item) => job::emit(&item),
            None => Ok(()),
        }
    }

    fn emit_all(&self, items: &[Item]) -> Result<(), Error> {
        if !self.in_background {
            return Ok(());
        }
        items.iter().try_for_each(job::emit)
    }
}
