//! One actor's or fetcher's call as its host sees it: grants checked and budgets counted
//! before anything reaches the server's side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use futures::StreamExt as _;
use tokio::sync::Semaphore;

use crate::config::Limits;
use crate::error::HostError;
use crate::grants::Effective;
use crate::host::{FetchRequest, Host, LinkColumns, PageRow, ProxyChoice, RunInfo, WaitFor};
use crate::page::{Page, is_own};

/// Headers of one request, all together, in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Pages or links asked for at once.
const MAX_BATCH: u32 = 10_000;

/// What a guest's `request` holds, whichever interface it came through.
#[derive(Clone, Debug)]
pub(crate) struct GuestRequest {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub follow_redirects: bool,
    pub respect_robots: bool,
    pub timeout_ms: Option<u32>,
}

/// The host of one call, with what is left of its budgets.
pub(crate) struct HostCall {
    host: Arc<dyn Host>,
    grants: Arc<Effective>,
    limits: Limits,
    asked: AtomicU32,
    bytes_left: AtomicU64,
    slots: Semaphore,
}

impl HostCall {
    pub fn new(host: Arc<dyn Host>, grants: Arc<Effective>, limits: Limits) -> Self {
        Self {
            host,
            grants,
            limits,
            asked: AtomicU32::new(0),
            bytes_left: AtomicU64::new(limits.fetch_bytes()),
            slots: Semaphore::new(limits.concurrency.max(1) as usize),
        }
    }

    /// Requests that reached the host so far, renders included.
    pub fn fetches(&self) -> u32 {
        self.asked.load(Ordering::Relaxed).min(self.limits.fetches)
    }

    /// One request.
    pub async fn fetch(&self, request: GuestRequest) -> Result<Arc<Page>, HostError> {
        let request = self.checked(request)?;
        self.count()?;
        let _slot = self.slot().await?;
        let max_bytes = self.left()?;
        let page = self
            .host
            .fetch(FetchRequest {
                max_bytes,
                ..request
            })
            .await?;
        self.spend(&page);
        Ok(page)
    }

    /// One page through the browser.
    pub async fn render(&self, url: &str, wait_for: WaitFor) -> Result<Arc<Page>, HostError> {
        if !self.grants.render {
            return Err(HostError::Denied(
                "permission render is not granted".to_owned(),
            ));
        }
        self.may_visit(url)?;
        self.count()?;
        let _slot = self.slot().await?;
        self.left()?;
        let page = self.host.render(url, wait_for).await?;
        self.spend(&page);
        Ok(page)
    }

    /// Many requests, at most `concurrency` at once; answers in their order.
    pub async fn fetch_many(
        &self,
        requests: Vec<GuestRequest>,
        concurrency: u32,
    ) -> Vec<Result<Arc<Page>, HostError>> {
        let calls = requests.into_iter().map(|request| self.fetch(request));
        futures::stream::iter(calls)
            .buffered(self.width(concurrency))
            .collect()
            .await
    }

    /// Many pages through the browser.
    pub async fn render_many(
        &self,
        urls: Vec<String>,
        concurrency: u32,
    ) -> Vec<Result<Arc<Page>, HostError>> {
        let calls = urls
            .into_iter()
            .map(|url| async move { self.render(&url, WaitFor::Load).await });
        futures::stream::iter(calls)
            .buffered(self.width(concurrency))
            .collect()
            .await
    }

    /// Another plugin's role.
    pub async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
    ) -> Result<String, HostError> {
        if !self.grants.extract.allows(role) {
            return Err(HostError::Denied(format!(
                "permission extract={role} is not granted"
            )));
        }
        self.host.extract(role, page, options).await
    }

    /// A finished run.
    pub async fn run(&self, id: i64) -> Result<RunInfo, HostError> {
        self.crawl_data()?.run(id).await
    }

    /// Pages of a run.
    pub async fn pages(&self, run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, HostError> {
        self.crawl_data()?
            .pages(run, after, limit.clamp(1, MAX_BATCH))
            .await
    }

    /// Links of a run.
    pub async fn links(&self, run: i64, after: i64, pages: u32) -> Result<LinkColumns, HostError> {
        self.crawl_data()?
            .links(run, after, pages.clamp(1, MAX_BATCH))
            .await
    }

    /// A stored page. It counts against the bytes fetched, which bounds what a guest can
    /// make the host hold.
    pub async fn open_page(&self, page: i64) -> Result<Arc<Page>, HostError> {
        let host = self.crawl_data()?;
        self.left()?;
        let page = host.open_page(page).await?;
        self.spend(&page);
        Ok(page)
    }

    fn crawl_data(&self) -> Result<&dyn Host, HostError> {
        if self.grants.crawl_data {
            Ok(&*self.host)
        } else {
            Err(HostError::Denied(
                "permission crawl-data is not granted".to_owned(),
            ))
        }
    }

    fn checked(&self, request: GuestRequest) -> Result<FetchRequest, HostError> {
        let GuestRequest {
            method,
            url,
            headers,
            body,
            follow_redirects,
            respect_robots,
            timeout_ms,
        } = request;
        if !matches!(method.as_str(), "GET" | "HEAD" | "POST") {
            return Err(HostError::InvalidInput(
                "method: GET, HEAD or POST".to_owned(),
            ));
        }
        if body.is_some() && method != "POST" {
            return Err(HostError::InvalidInput(format!(
                "body: a {method} has none"
            )));
        }
        let header_bytes: usize = headers.iter().map(|(n, v)| n.len() + v.len()).sum();
        if header_bytes > MAX_HEADER_BYTES {
            return Err(HostError::InvalidInput(format!(
                "headers: at most {MAX_HEADER_BYTES} bytes"
            )));
        }
        self.may_visit(&url)?;
        let (own, headers): (Vec<_>, Vec<_>) = headers
            .into_iter()
            .map(|(n, v)| (n.to_ascii_lowercase(), v))
            .partition(|(name, _)| is_own(name));
        let own = |wanted: &str| own.iter().find(|(name, _)| name == wanted);
        let proxy = own("orbweaver-proxy-pool").map(|(_, pool)| ProxyChoice {
            pool: pool.clone(),
            country: own("orbweaver-proxy-country").map(|(_, country)| country.clone()),
        });
        Ok(FetchRequest {
            method,
            url,
            headers,
            proxy,
            body,
            follow_redirects,
            respect_robots,
            timeout_ms,
            max_bytes: 0,
            allowed: Arc::clone(&self.grants.http),
        })
    }

    fn may_visit(&self, url: &str) -> Result<(), HostError> {
        let parsed =
            url::Url::parse(url).map_err(|e| HostError::InvalidInput(format!("url: {e}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(HostError::InvalidInput("url: http or https".to_owned()));
        }
        if self.grants.http.allows(url) {
            return Ok(());
        }
        Err(HostError::Denied(format!(
            "permission http does not cover {}",
            parsed.host_str().unwrap_or_default()
        )))
    }

    fn count(&self) -> Result<(), HostError> {
        if self.asked.fetch_add(1, Ordering::Relaxed) >= self.limits.fetches {
            self.asked.store(self.limits.fetches, Ordering::Relaxed);
            return Err(HostError::Denied(format!(
                "the budget of {} requests is used up",
                self.limits.fetches
            )));
        }
        Ok(())
    }

    async fn slot(&self) -> Result<tokio::sync::SemaphorePermit<'_>, HostError> {
        self.slots
            .acquire()
            .await
            .map_err(|_| HostError::Failed("the call is being stopped".to_owned()))
    }

    /// Bytes that may still be fetched. Requests under way are not reserved for: they can
    /// exceed the budget by one page each.
    fn left(&self) -> Result<u64, HostError> {
        match self.bytes_left.load(Ordering::Relaxed) {
            0 => Err(HostError::Denied(format!(
                "the budget of {} MiB fetched is used up",
                self.limits.fetch_mib
            ))),
            left => Ok(left),
        }
    }

    fn spend(&self, page: &Page) {
        let bytes = page.parts().body.len() as u64;
        let spent = |left: u64| Some(left.saturating_sub(bytes));
        // The closure never refuses, so there is no failure to handle.
        let _ = self
            .bytes_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
    }

    fn width(&self, asked: u32) -> usize {
        let limit = self.limits.concurrency.max(1);
        (if asked == 0 { limit } else { asked.min(limit) }) as usize
    }
}
