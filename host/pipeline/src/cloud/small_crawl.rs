//! A small crawl that runs while the client waits: breadth first, on one site.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use orbweaver_accounts::quota::{QuotaError, Reservation};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::key_hash::{key_hash, url_key};
use orbweaver_core::page::page_pass;
use orbweaver_fetch::{Personal, ProxyUrl};
use orbweaver_store::{Amount, Principal};
use orbweaver_urls::KeyRules;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::backend::{Choice, Job, WaitPoint, project_proxy};
use super::money::Spent;
use crate::answer_budget::AnswerBudget;
use crate::blocking::blocking_of;
use crate::charge::Charge;
use crate::context::Scans;
use crate::convert::Format;
use crate::document::Document;
use crate::error::ScanError;
use crate::pipeline::Pipeline;

/// Name of the call in usage events.
const CALL: &str = "cloud-crawl";
/// Pages loaded in parallel.
const AT_ONCE: usize = 6;
/// Time for the crawl, shorter than the request's time limit.
const CRAWL_TIMEOUT: Duration = Duration::from_secs(240);
/// Most URLs in the queue.
const MAX_WAITING: usize = 20_000;
/// Most bytes of URLs in the queue, and of URLs taken from one page.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// Most distinct URLs remembered.
const MAX_KNOWN: usize = 100_000;
/// Most pages loaded beside those that are returned: failed ones, and those of redirects that lead
/// elsewhere.
const MAX_LOST: usize = 1_000;

/// Options of the crawl.
#[derive(Clone, Debug)]
pub struct Crawl {
    /// Start URL.
    pub url: String,
    /// Most pages to load.
    pub limit: u64,
    /// Format of the content.
    pub format: Format,
    /// Load pages in a browser and wait for this point; `None`: plain HTTP.
    pub render: Option<WaitPoint>,
}

/// A crawled page.
#[derive(Clone, Debug)]
pub struct Crawled {
    /// The URL that answered.
    pub url: String,
    /// Its content; empty if the body is not text.
    pub content: String,
    /// HTTP status.
    pub status: u16,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// What it lacks, if it is incomplete.
    pub lack: Option<String>,
    links: Vec<String>,
    /// Whether robots.txt allows the URL that answered.
    is_allowed: bool,
}

/// A crawl that has ended.
#[derive(Clone, Debug)]
pub struct SmallCrawl {
    /// Its pages, in the order of their arrival.
    pub pages: Vec<Crawled>,
    /// Why pages that it knew of were left out, if it ended before its limit.
    pub cut: Option<String>,
}

/// Everything needed to load a page.
struct Site<'a> {
    scans: &'a Scans,
    crawl: &'a Crawl,
    project: ProjectId,
    proxy: Option<ProxyUrl>,
    /// What was paid for all pages that were asked for.
    spent: Spent,
}

impl Crawl {
    /// Crawls; each page is billed separately under `token`, and what was paid for pages that could not be
    /// had at the end, however the crawl ends. If the caps leave less than
    /// `limit`, fewer pages are loaded. The first page for which `room` has none is left out, and ends the
    /// crawl.
    ///
    /// # Errors
    /// A cap that leaves nothing, or why there is no first page.
    pub async fn run(
        &self,
        scans: &Scans,
        principal: &Principal,
        room: &AnswerBudget,
        token: impl Fn(usize) -> String,
    ) -> Result<SmallCrawl, ScanError> {
        let block = reserve(scans, principal, self.limit, &token).await?;
        let mut charge = Charge::new(&scans.store, block, token(0), CALL, Amount::default());
        let site = Site {
            scans,
            crawl: self,
            project: principal.project,
            proxy: project_proxy(principal)?,
            spent: charge.spent.clone(),
        };
        let done = self.visit_all(&site, &mut charge, room, &token).await;
        charge.bill_in_vain().await?;
        done
    }

    async fn visit_all(
        &self,
        site: &Site<'_>,
        charge: &mut Charge,
        room: &AnswerBudget,
        token: &impl Fn(usize) -> String,
    ) -> Result<SmallCrawl, ScanError> {
        let deadline = Instant::now() + CRAWL_TIMEOUT;
        let limit = usize::try_from(charge.left().cloud_pages.min(self.limit)).unwrap_or(1);
        let first = site.load(self.url.clone(), false).await?;
        let origin = origin(&first.url);
        let mut waiting = Waiting::default();
        waiting.known.extend([key(&self.url), key(&first.url)]);
        let mut answered = HashSet::new();
        let mut pages: Vec<Crawled> = Vec::new();
        let mut full = None;
        let (mut billed, mut lost) = (0, 0);
        let mut running = FuturesUnordered::new();
        let mut arrived = Some(first);
        loop {
            if let Some(mut page) = arrived.take() {
                // A redirect may lead off the site, to a forbidden page, or to one that is here.
                let is_ours = page.is_allowed
                    && self::origin(&page.url) == origin
                    && answered.insert(key(&page.url));
                let has_room = match is_ours {
                    true => room.take(page.content.len()),
                    false => Ok(()),
                };
                let is_kept = is_ours && has_room.is_ok();
                // A page that was paid for is billed in any case.
                if is_kept || page.cost_micros > 0 {
                    let (token, cost) = (token(billed), page.cost_micros);
                    charge.bill_part(token, Amount::cloud(1), cost).await?;
                    billed += 1;
                }
                if let Err(error) = has_room {
                    if pages.is_empty() {
                        return Err(error);
                    }
                    full.get_or_insert_with(|| format!("{}: {error}", page.url));
                }
                if is_kept {
                    for link in page.links.drain(..) {
                        if self::origin(&link) == origin {
                            waiting.push(link);
                        }
                    }
                    pages.push(page);
                } else {
                    lost += 1;
                }
            }
            while running.len() < AT_ONCE
                && billed + running.len() < limit
                && lost < MAX_LOST
                && full.is_none()
            {
                let Some(url) = waiting.pop() else {
                    break;
                };
                running.push(site.visit(url));
            }
            match timeout_at(deadline, running.next()).await {
                Ok(Some(page)) => {
                    lost += usize::from(page.is_none());
                    arrived = page;
                }
                Ok(None) => {
                    let has_more = !waiting.urls.is_empty();
                    let cut = if full.is_some() {
                        full
                    } else if !has_more || billed as u64 >= self.limit {
                        None
                    } else if billed >= limit {
                        Some(format!(
                            "the project's page caps leave {limit} cloud pages of the {} asked for",
                            self.limit
                        ))
                    } else {
                        Some(format!("more than {MAX_LOST} pages could not be fetched"))
                    };
                    return Ok(SmallCrawl { pages, cut });
                }
                Err(_) => {
                    let cut = format!(
                        "the crawl took longer than {} seconds",
                        CRAWL_TIMEOUT.as_secs()
                    );
                    return Ok(SmallCrawl {
                        pages,
                        cut: Some(cut),
                    });
                }
            }
        }
    }
}

/// Queue of URLs to visit, each once; bounded in number and bytes.
#[derive(Default)]
struct Waiting {
    urls: VecDeque<String>,
    bytes: usize,
    /// Hashes of the keys of all URLs ever queued.
    known: HashSet<u64>,
}

impl Waiting {
    fn push(&mut self, url: String) {
        let has_room = self.urls.len() < MAX_WAITING
            && self.bytes + url.len() <= MAX_WAITING_BYTES
            && self.known.len() < MAX_KNOWN;
        if has_room && self.known.insert(key(&url)) {
            self.bytes += url.len();
            self.urls.push_back(url);
        }
    }

    fn pop(&mut self) -> Option<String> {
        let url = self.urls.pop_front()?;
        self.bytes = self.bytes.saturating_sub(url.len());
        Some(url)
    }
}

impl Site<'_> {
    /// Loads a linked page; `None` if robots.txt disallows it, or the target of a plain request's
    /// redirect, or the request fails.
    async fn visit(&self, url: String) -> Option<Crawled> {
        if !self.is_allowed(&url).await {
            return None;
        }
        let mut page = self.load(url.clone(), true).await.ok()?;
        // A browser follows redirects on its own.
        page.is_allowed = page.url == url || self.is_allowed(&page.url).await;
        Some(page)
    }

    /// Whether robots.txt allows it.
    async fn is_allowed(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        let fetcher = &self.scans.pipeline.fetcher.of_project(self.project);
        let (files, own) = (fetcher.site_files(), Personal::by(self.proxy.clone()));
        let robots = files.robots_for(fetcher, &url, &own, false).await.answer;
        robots.rules.allows_url(&url)
    }

    async fn load(&self, url: String, respect_robots: bool) -> Result<Crawled, ScanError> {
        let job = Job {
            url,
            render: self.crawl.render,
            proxy: self.proxy.clone(),
            respect_robots,
            spent: self.spent.part(),
            ..Job::default()
        };
        let loaded = self
            .scans
            .cloud
            .load(self.project, Choice::Auto, &job)
            .await?;
        let cost_micros = loaded.cost_micros;
        let at = self.scans.clock.now();
        let bytes = loaded.response.body.len();
        let read = move || Document::from_response(loaded.response, at);
        let (mut document, _) = blocking_of(bytes, read).await?;
        let pipeline = self.scans.pipeline.of_project(self.project);
        let links = links(&pipeline, &mut document).await?;
        // An image or an archive counts as a page too, with empty content.
        let (kind, lack) = (document.kind, document.lack());
        let content = match kind {
            Kind::Other => String::new(),
            Kind::Document if !pipeline.readable(&mut document).await? => String::new(),
            Kind::Html | Kind::Text | Kind::Document => {
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
            lack,
            links,
            is_allowed: true,
        })
    }
}

async fn links(pipeline: &Pipeline, document: &mut Document) -> Result<Vec<String>, ScanError> {
    let Some(page) = pipeline.content_page(document).await? else {
        return Ok(Vec::new());
    };
    let url = document.final_url.clone();
    blocking_of(page.parts().html.len(), move || {
        let facts = page_pass(&page.parts().html, &url);
        let mut bytes = 0;
        facts
            .links
            .iter()
            .map(|link| link.to.to_owned())
            .take_while(|url| {
                bytes += url.len();
                bytes <= MAX_WAITING_BYTES
            })
            .collect()
    })
    .await
}

async fn reserve(
    scans: &Scans,
    principal: &Principal,
    limit: u64,
    token: &impl Fn(usize) -> String,
) -> Result<Reservation, QuotaError> {
    let tokens = (0..usize::try_from(limit).unwrap_or(usize::MAX)).map(token);
    let (tokens, want) = (tokens.collect::<Vec<_>>(), Amount::cloud(limit));
    let (quota, project) = (&scans.quota, principal.project);
    quota
        .reserve_up_to_for(project, want, &tokens, Amount::cloud(1))
        .await
}

fn origin(url: &str) -> Option<url::Origin> {
    let url = Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.origin())
}

fn key(url: &str) -> u64 {
    key_hash(&url_key(url, KeyRules::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_bounded_in_bytes() {
        let mut waiting = Waiting::default();
        let long = "x".repeat(16 << 10);
        for n in 0..10_000 {
            waiting.push(format!("https://e.org/{n}/{long}"));
        }
        assert!(waiting.bytes <= MAX_WAITING_BYTES && waiting.urls.len() < 300);
        let first = waiting.pop().unwrap();
        // A URL is queued only once.
        waiting.push(first);
        let all: usize = waiting.urls.iter().map(String::len).sum();
        assert_eq!(waiting.bytes, all);
    }
}
