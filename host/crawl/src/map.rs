//! The URLs of a site, collected while the caller waits: from its start page, its sitemaps and
//! the project's earlier runs of it. Only the start page, robots.txt and sitemaps are fetched.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use orbweaver_core::content::{self, Kind};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_core::key_hash::key_hash;
use orbweaver_core::limits::MAX_SITEMAP_BYTES;
use orbweaver_core::page::page_pass;
use orbweaver_core::page_source::page_source;
use orbweaver_core::sitemap;
use orbweaver_fetch::{
    FetchError, Kind as FetchKind, Oversize, Personal, ProxyUrl, Request, Response,
};
use orbweaver_pipeline::{ScanError, blocking_of};
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{PageRange, RunFilter, RunState};
use orbweaver_urls::{KeyRules, Resolved, key_of};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use url::Url;
use utoipa::ToSchema;

use crate::context::Crawls;
use crate::patterns::PathPatterns;
use crate::scope::{Scope, Verdict};
use crate::spec::CrawlSpec;

/// Time for the start page and sitemaps; then the answer has what was found until then.
const SITE_TIMEOUT: Duration = Duration::from_secs(25);
/// Time for earlier runs.
const RUNS_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of URLs of one site.
pub const MAX_URLS: usize = 100_000;
/// Maximum bytes of all of them.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of sitemaps read for one answer.
const MAX_SITEMAPS: usize = 500;
/// Maximum nesting of indexes.
const MAX_NESTING: u32 = 5;
/// Maximum number of earlier runs of the site whose pages are read, the newest first.
const MAX_RUNS: usize = 20;
/// Maximum number of runs of the project among which those of the site are looked for.
const MAX_LISTED: u64 = 1_000;
/// Runs listed at a time.
const RUNS: u32 = 100;
/// Pages of a run that are read at a time.
const CHUNK: u32 = 1_000;
/// Why something is missing that there was no time for.
const OUT_OF_TIME: &str = "not everything was read within 30 seconds";
/// Why something is missing that is beyond the limits of number and bytes.
const TOO_MANY: &str = "the site has more than 500 sitemaps, 100000 URLs or 16 MiB of them";
/// Why sitemaps are missing that indexes of indexes name.
const TOO_DEEP: &str = "the site has indexes of sitemaps in more than 5 levels";
/// URLs taken from a sitemap before other tasks get a turn.
const PIECE: usize = 1_000;

/// What to map.
#[derive(Clone, Debug)]
pub struct MapSpec {
    /// The start page.
    pub url: String,
    /// Words in lower case: only URLs that contain one of them, those with most of them first.
    pub search: Vec<String>,
    /// Maximum number of URLs in the answer.
    pub limit: usize,
    /// Whether URLs of subdomains are in scope.
    pub subdomains: bool,
    /// Whether sitemaps are read.
    pub sitemaps: bool,
    /// Whether the project's earlier runs are read.
    pub runs: bool,
}

/// Where a URL was found first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = MapSource)]
pub enum UrlSource {
    /// The start page, or one of its links.
    Page,
    /// A sitemap.
    Sitemap,
    /// An earlier run of the project.
    Run,
}

/// A URL of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = MapUrl)]
pub struct MappedUrl {
    /// The URL as it was found, resolved.
    pub url: String,
    /// Where it was found first.
    pub source: UrlSource,
}

/// A site's URLs.
#[derive(Clone, Debug, Default)]
pub struct SiteMap {
    /// In the order in which they were found; with words to search for, the best match first.
    pub urls: Vec<MappedUrl>,
    /// Number of URLs before `limit`.
    pub total: usize,
    /// Number of sitemaps that were read.
    pub sitemaps: usize,
    /// Why something is missing: the first reason. `None` if everything was read, within the limits
    /// of time and number.
    pub missing: Option<String>,
    /// Whether the start page answered.
    pub answered: bool,
}

/// Collects a site's URLs; requests go through `proxy`.
///
/// # Errors
/// Why the start page gives no answer; an internal error.
#[crate::boxed]
pub async fn map(
    crawls: &Crawls,
    project: ProjectId,
    spec: &MapSpec,
    proxy: Option<ProxyUrl>,
) -> Result<SiteMap, ScanError> {
    let deadline = Instant::now() + SITE_TIMEOUT;
    let internal = |error: &dyn std::fmt::Display| ScanError::Internal(error.to_string());
    let seed = Resolved::parse(&spec.url).ok_or_else(|| internal(&"the seed is not a URL"))?;
    let patterns = PathPatterns::compile(&[], &[]).map_err(|error| internal(&error))?;
    let site = CrawlSpec {
        subdomains: spec.subdomains,
        ..CrawlSpec::new(spec.url.clone())
    };
    let mut mapper = Mapper {
        crawls,
        project,
        proxy,
        scope: Scope::new(&site, &seed, patterns),
        rules: KeyRules {
            drop_tracking: crawls.config.drop_tracking,
        },
        known: HashSet::new(),
        bytes: 0,
        mapped: SiteMap::default(),
    };
    match timeout_at(deadline, mapper.start_page(&spec.url)).await {
        Ok(read) => read?,
        Err(_) => mapper.lacks(OUT_OF_TIME),
    }
    if spec.sitemaps {
        match timeout_at(deadline, mapper.sitemaps(&spec.url)).await {
            Ok(read) => read?,
            Err(_) => mapper.lacks(OUT_OF_TIME),
        }
    }
    if spec.runs {
        let until = Instant::now() + RUNS_TIMEOUT;
        match timeout_at(until, mapper.runs()).await {
            Ok(read) => read.map_err(|error| internal(&error))?,
            Err(_) => mapper.lacks(OUT_OF_TIME),
        }
    }
    let mut mapped = mapper.mapped;
    if !spec.search.is_empty() {
        let (urls, words) = (mapped.urls, spec.search.clone());
        let bytes = urls.iter().map(|mapped| mapped.url.len()).sum();
        mapped.urls = blocking_of(bytes, move || best(urls, &words)).await?;
    }
    mapped.total = mapped.urls.len();
    mapped.urls.truncate(spec.limit);
    Ok(mapped)
}

/// URLs that contain one of the words, as they are written or with their escapes decoded, those with most
/// of them first. CPU-bound.
fn best(urls: Vec<MappedUrl>, words: &[String]) -> Vec<MappedUrl> {
    let mut found: Vec<(usize, MappedUrl)> = urls
        .into_iter()
        .filter_map(|mapped| {
            let text = mapped.url.to_lowercase();
            let readable = match mapped.url.contains('%') {
                true => percent_decode_str(&mapped.url)
                    .decode_utf8_lossy()
                    .to_lowercase(),
                false => String::new(),
            };
            let has = |word: &&String| text.contains(*word) || readable.contains(*word);
            let hits = words.iter().filter(has).count();
            (hits > 0).then_some((hits, mapped))
        })
        .collect();
    // Stable: equal matches stay in the order in which they were found.
    found.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    found.into_iter().map(|(_, mapped)| mapped).collect()
}

struct Mapper<'a> {
    crawls: &'a Crawls,
    project: ProjectId,
    proxy: Option<ProxyUrl>,
    scope: Scope,
    rules: KeyRules,
    known: HashSet<u64>,
    bytes: usize,
    mapped: SiteMap,
}

impl Mapper<'_> {
    /// Notes why something is missing, unless a reason is known.
    fn lacks(&mut self, why: impl Into<String>) {
        if self.mapped.missing.is_none() {
            self.mapped.missing = Some(why.into());
        }
    }

    fn add(&mut self, url: &str, source: UrlSource) {
        let Some(parsed) = Resolved::parse(url) else {
            return;
        };
        if self.scope.judge(&parsed) != Verdict::In {
            return;
        }
        let url = parsed.without_fragment();
        if self.mapped.urls.len() >= MAX_URLS || self.bytes + url.len() > MAX_BYTES {
            self.lacks(TOO_MANY);
        } else if self.known.insert(key_hash(&key_of(&parsed, self.rules))) {
            self.bytes += url.len();
            let url = url.to_owned();
            self.mapped.urls.push(MappedUrl { url, source });
        }
    }

    async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        let proxy = self.proxy.clone();
        let fetcher = self.crawls.pipeline.fetcher.of_project(self.project);
        Box::pin(fetcher.fetch(Request { proxy, ..request })).await
    }

    /// Adds the start page and its links. A page that robots.txt disallows, or whose robots.txt is
    /// unavailable, is not fetched; a host that gives no answer is an error.
    async fn start_page(&mut self, url: &str) -> Result<(), ScanError> {
        let request = Request {
            respect_robots: true,
            ..Request::get(url)
        };
        let response = match self.fetch(request).await {
            Ok(response) => response,
            Err(error) if error.kind == FetchKind::Robots => {
                self.lacks(format!("the start page was not fetched: {}", error.message));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.mapped.answered = true;
        let final_url = response.final_url.clone();
        if let Some(landed) = Resolved::parse(&final_url)
            && let Some(wider) = self.scope.with_site(&landed)
        {
            self.scope = wider;
        }
        if response.status < 400 {
            self.add(&final_url, UrlSource::Page);
        } else {
            self.lacks(format!("the start page answers {}", response.status));
        }
        for link in blocking_of(response.body.len(), move || links(&response)).await? {
            self.add(&link, UrlSource::Page);
        }
        Ok(())
    }

    /// Adds what the sitemaps list: those that robots.txt names, else `/sitemap.xml`.
    async fn sitemaps(&mut self, url: &str) -> Result<(), ScanError> {
        let Ok(start) = Url::parse(url) else {
            return Ok(());
        };
        let fetcher = &self.crawls.pipeline.fetcher.of_project(self.project);
        let (files, own) = (fetcher.site_files(), Personal::by(self.proxy.clone()));
        let robots = files.robots_for(fetcher, &start, &own, false).await.answer;
        // RFC 3986, section 5: a relative one is relative to the file that names it.
        let file = start.join("/robots.txt").unwrap_or_else(|_| start.clone());
        let named = robots.robots.sitemaps().iter();
        let named = named.filter_map(|sitemap| Some((file.join(sitemap).ok()?.to_string(), 0)));
        let mut queue: VecDeque<(String, u32)> = named.take(MAX_SITEMAPS).collect();
        // Nobody has said that there is one at this place.
        let is_guess = queue.is_empty();
        if is_guess {
            queue.extend(start.join("/sitemap.xml").map(|url| (url.to_string(), 0)));
        }
        let mut asked: HashSet<String> = HashSet::new();
        while let Some((url, nesting)) = queue.pop_front() {
            if asked.len() >= MAX_SITEMAPS || self.mapped.urls.len() >= MAX_URLS {
                self.lacks(TOO_MANY);
                break;
            }
            if !asked.insert(url.clone()) {
                continue;
            }
            // Held until all listed URLs are taken, because they are in memory until then.
            let slots = self.crawls.live.sitemaps();
            let slot = slots.acquire(self.project).await;
            let _slot = slot.map_err(|error| ScanError::Internal(error.to_string()))?;
            let Some(sitemap) = self.sitemap(&url, is_guess && nesting == 0).await? else {
                continue;
            };
            self.mapped.sitemaps += 1;
            if let Some(why) = sitemap::cut(&sitemap) {
                self.lacks(format!("the sitemap {url}: {why}"));
            }
            for piece in sitemap.pages.chunks(PIECE) {
                for page in piece {
                    self.add(&page.url, UrlSource::Sitemap);
                }
                tokio::task::yield_now().await;
            }
            if nesting < MAX_NESTING {
                let room = MAX_SITEMAPS.saturating_sub(queue.len());
                let further = sitemap.sitemaps.into_iter().take(room);
                queue.extend(further.map(|entry| (entry.url, nesting + 1)));
            } else if !sitemap.sitemaps.is_empty() {
                self.lacks(TOO_DEEP);
            }
        }
        Ok(())
    }

    /// `None` if there is none at this place, or it cannot be read; only the latter is noted. A place
    /// that is a guess may have another file.
    async fn sitemap(
        &mut self,
        url: &str,
        is_guess: bool,
    ) -> Result<Option<sitemap::Sitemap>, ScanError> {
        let request = Request {
            max_bytes: Some(MAX_SITEMAP_BYTES as u64 + 1),
            oversize: Oversize::Truncate,
            ..Request::get(url)
        };
        let response = match self.fetch(request).await {
            Ok(response) if response.status == 200 => response,
            Ok(response) => {
                if matches!(response.status, 401 | 403 | 408 | 425 | 429 | 500..) {
                    self.lacks(format!("the sitemap {url} answers {}", response.status));
                }
                return Ok(None);
            }
            Err(error) => {
                self.lacks(format!(
                    "the sitemap {url} was not fetched: {}",
                    error.message
                ));
                return Ok(None);
            }
        };
        let parsed = blocking_of(response.body.len(), move || {
            let body = sitemap::unpack(&response.body)?;
            sitemap::parse(&body, &response.final_url)
        })
        .await?;
        if let (Err(error), false) = (&parsed, is_guess) {
            self.lacks(format!("the sitemap {url} cannot be read: {error}"));
        }
        Ok(parsed.ok())
    }

    /// Adds the pages that the project's newest runs of this site have found.
    async fn runs(&mut self) -> Result<(), StoreError> {
        let (mut read, mut offset) = (0, 0);
        while offset < MAX_LISTED {
            let filter = RunFilter {
                state: Some(RunState::Done),
                monitor: None,
                limit: RUNS,
                offset,
            };
            let runs = self.crawls.store.run_items(self.project, &filter).await?;
            offset += u64::from(RUNS);
            let last = runs.len() < RUNS as usize;
            for run in runs {
                let is_here = Resolved::parse(&run.url).is_some_and(|url| self.scope.is_site(&url));
                if !is_here {
                    continue;
                }
                if read == MAX_RUNS || self.mapped.urls.len() >= MAX_URLS {
                    return Ok(());
                }
                read += 1;
                self.run_pages(run.id).await?;
            }
            if last {
                break;
            }
        }
        Ok(())
    }

    /// Adds the pages of a run that answered with a status below 400.
    async fn run_pages(&mut self, run: RunId) -> Result<(), StoreError> {
        let mut after = PageId(0);
        while self.mapped.urls.len() < MAX_URLS {
            let range = PageRange {
                status: None,
                after,
                offset: 0,
                limit: CHUNK,
            };
            let pages = self
                .crawls
                .store
                .run_pages(self.project, run, &range)
                .await?;
            let Some(last) = pages.last() else { break };
            after = last.id;
            for page in pages.iter().filter(|page| page.status < 400) {
                self.add(&page.url, UrlSource::Run);
            }
        }
        Ok(())
    }
}

/// Absolute links of an HTML page, in document order.
fn links(response: &Response) -> Vec<String> {
    let content_type = response.content_type();
    if content::sniff(content_type, &response.body).kind != Kind::Html {
        return Vec::new();
    }
    let html = page_source(&response.body, content_type);
    let facts = page_pass(&html, &response.final_url);
    facts.links.iter().map(|link| link.to.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_most_of_the_words_comes_first() {
        let urls = ["/a/price", "/b", "/Price/List", "/list"].map(|path| MappedUrl {
            url: format!("https://e.org{path}"),
            source: UrlSource::Page,
        });
        let words = ["price".to_owned(), "list".to_owned()];
        let found: Vec<String> = best(urls.into(), &words)
            .into_iter()
            .map(|mapped| mapped.url)
            .collect();
        let expected = ["/Price/List", "/a/price", "/list"];
        assert_eq!(found, expected.map(|path| format!("https://e.org{path}")));
    }

    #[test]
    fn words_are_found_in_escapes_as_written_and_as_read() {
        let urls = [
            "/caf%C3%A9",
            "/%D0%9D%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8",
            "/50%",
        ];
        for (word, path) in [("café", 0), ("caf%c3%a9", 0), ("новости", 1), ("50%", 2)] {
            let all = urls.map(|path| MappedUrl {
                url: format!("https://e.org{path}"),
                source: UrlSource::Page,
            });
            let found = best(all.into(), &[word.to_owned()]);
            let found: Vec<&str> = found.iter().map(|mapped| mapped.url.as_str()).collect();
            assert_eq!(found, [format!("https://e.org{}", urls[path])], "{word}");
        }
    }
}
