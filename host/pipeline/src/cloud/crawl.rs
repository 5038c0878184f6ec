//! A small crawl while the caller waits: breadth first, on one site.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use orbweaver_accounts::quota::{QuotaError, Reservation};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::key_hash::url_key;
use orbweaver_core::page::page_pass;
use orbweaver_fetch::ProxyUrl;
use orbweaver_store::{Amount, Principal};
use orbweaver_urls::KeyRules;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::backend::{Choice, Job, WaitPoint, project_proxy};
use crate::blocking::blocking;
use crate::context::Scans;
use crate::convert::Format;
use crate::document::Document;
use crate::error::ScanError;

/// Pages loaded at once.
const AT_ONCE: usize = 6;
/// An answer comes before the request's own time is over.
const PATIENCE: Duration = Duration::from_secs(240);
/// URLs that wait at most.
const MAX_WAITING: usize = 20_000;

/// What to crawl.
#[derive(Clone, Debug)]
pub struct Crawl {
    /// Where to begin.
    pub url: String,
    /// Most pages.
    pub limit: u64,
    /// How content is returned.
    pub format: Format,
    /// In a browser, until this point.
    pub render: Option<WaitPoint>,
}

/// A page of it.
#[derive(Clone, Debug)]
pub struct Crawled {
    /// The URL that answered.
    pub url: String,
    /// Its content; empty for what is no text.
    pub content: String,
    /// HTTP status.
    pub status: u16,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
    links: Vec<String>,
}

/// Everything that a page needs to be loaded.
struct Site<'a> {
    scans: &'a Scans,
    crawl: &'a Crawl,
    project: ProjectId,
    proxy: Option<ProxyUrl>,
}

impl Crawl {
    /// Crawls; every page is billed on its own under `token`. Where the caps leave less than
    /// `limit`, fewer pages come.
    ///
    /// # Errors
    /// A cap that leaves nothing, or why the first page is not there.
    pub async fn run(
        &self,
        scans: &Scans,
        principal: &Principal,
        token: impl Fn(usize) -> String,
    ) -> Result<Vec<Crawled>, ScanError> {
        let deadline = Instant::now() + PATIENCE;
        let mut block = reserve(scans, principal, self.limit).await?;
        let limit = usize::try_from(block.left().cloud_pages.min(self.limit)).unwrap_or(1);
        let site = Site {
            scans,
            crawl: self,
            project: principal.project,
            proxy: project_proxy(principal)?,
        };
        let first = site.load(self.url.clone()).await?;
        let origin = origin(&first.url);
        let mut seen: HashSet<String> = [key(&self.url), key(&first.url)].into();
        let mut waiting = VecDeque::new();
        let mut pages = Vec::new();
        let mut running = FuturesUnordered::new();
        let mut arrived = Some(first);
        loop {
            if let Some(mut page) = arrived.take() {
                for link in page.links.drain(..) {
                    if self::origin(&link) == origin
                        && waiting.len() < MAX_WAITING
                        && seen.insert(key(&link))
                    {
                        waiting.push_back(link);
                    }
                }
                let usage = block.usage(
                    token(pages.len()),
                    "cloud-crawl",
                    Amount::cloud(1),
                    page.cost_micros,
                );
                scans.store.bill(usage).await?;
                pages.push(page);
            }
            while running.len() < AT_ONCE && pages.len() + running.len() < limit {
                let Some(url) = waiting.pop_front() else {
                    break;
                };
                running.push(site.visit(url));
            }
            match timeout_at(deadline, running.next()).await {
                Ok(Some(page)) => arrived = page,
                Ok(None) | Err(_) => return Ok(pages),
            }
        }
    }
}

impl Site<'_> {
    /// A page that was linked to; none where robots.txt disallows it or nothing answers.
    async fn visit(&self, url: String) -> Option<Crawled> {
        let parsed = Url::parse(&url).ok()?;
        let fetcher = &self.scans.pipeline.fetcher;
        let robots = fetcher.site_files().robots(fetcher, &parsed).await;
        if !robots.rules.allows_url(&parsed) {
            return None;
        }
        self.load(url).await.ok()
    }

    async fn load(&self, url: String) -> Result<Crawled, ScanError> {
        let job = Job {
            url,
            render: self.crawl.render,
            proxy: self.proxy.clone(),
            ..Job::default()
        };
        let loaded = self
            .scans
            .cloud
            .load(self.project, Choice::Auto, &job)
            .await?;
        let cost_micros = loaded.cost_micros;
        let at = self.scans.clock.now();
        let (mut document, _) =
            blocking(move || Document::from_response(loaded.response, at)).await?;
        let links = links(&mut document).await?;
        // A picture or an archive is a page of the site, too, if one without text.
        let content = match document.kind {
            Kind::Other => String::new(),
            Kind::Html | Kind::Text => {
                let pipeline = &self.scans.pipeline;
                pipeline
                    .convert(&mut document, self.crawl.format, false)
                    .await?
            }
        };
        Ok(Crawled {
            url: document.final_url,
            content,
            status: document.status,
            cost_micros,
            links,
        })
    }
}

async fn links(document: &mut Document) -> Result<Vec<String>, ScanError> {
    if document.kind != Kind::Html {
        return Ok(Vec::new());
    }
    let (page, url) = (document.page().await?, document.final_url.clone());
    blocking(move || {
        let facts = page_pass(&page.parts().html, &url);
        let links = facts.links.iter().filter(|link| !link.nofollow);
        links.map(|link| link.to.to_owned()).collect()
    })
    .await
}

async fn reserve(
    scans: &Scans,
    principal: &Principal,
    limit: u64,
) -> Result<Reservation, QuotaError> {
    let want = Amount::cloud(limit);
    scans.quota.reserve_up_to(principal.project, want).await
}

fn origin(url: &str) -> Option<url::Origin> {
    let url = Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.origin())
}

fn key(url: &str) -> String {
    url_key(url, KeyRules::default())
}
