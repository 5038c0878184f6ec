//! Sitemaps as the start of a run: they are read, and the listed URLs are crawled without
//! following links.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use orbweaver_core::key_hash::key_hash;
use orbweaver_core::limits::MAX_SITEMAP_BYTES;
use orbweaver_core::sitemap::{self, Sitemap};
use orbweaver_fetch::{FetchError, Kind, Oversize, Request};
use tokio::sync::mpsc;
use url::Url;

use crate::shared::Shared;
use orbweaver_pipeline::blocking_of;
use orbweaver_store::crawl::UNREADABLE_SITEMAP;

/// Maximum number of sitemaps of a run: an index of 50,000 lists more than any run fetches.
const MAX_SITEMAPS: usize = 1_000;
/// Maximum bytes of the URLs of sitemaps that wait to be read.
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// Listed URLs sent at a time.
const PIECE: usize = 1_000;
/// Maximum nesting of indexes.
const MAX_NESTING: u32 = 5;

/// What came of a sitemap.
pub(super) enum Listed {
    /// Some of the URLs that it lists.
    Urls(Vec<String>),
    /// It could not be read.
    Failed(FailedSitemap),
}

/// A sitemap that could not be read.
pub(super) struct FailedSitemap {
    pub(super) url: String,
    /// A kind of fetch errors, or [`UNREADABLE_SITEMAP`].
    pub(super) kind: &'static str,
    /// The cause, for people.
    pub(super) message: String,
}

/// What answered is no sitemap.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoSitemap(String);

/// Reads the run's sitemaps and hands over what they list, in order. Ends when everything
/// is read or nobody takes any more.
///
/// # Errors
/// Why no URLs can be read: some sitemap failed, and none of the others lists URLs.
pub(super) async fn read(shared: Arc<Shared>, found: mpsc::Sender<Listed>) -> anyhow::Result<()> {
    let seed = Url::parse(&shared.spec.url)?;
    let is_origin = seed.path() == "/" && seed.query().is_none();
    let start = if is_origin {
        seed.join("/sitemap.xml")?
    } else {
        seed.clone()
    };
    let mut queue = Queue::default();
    queue.push(start.to_string(), 0);
    // Sitemaps that were read, and those of them that are no index.
    let (mut read, mut lists, mut failed) = (0, 0, 0_u32);
    let mut failure = None;
    while let Some((url, nesting)) = queue.pop() {
        shared.wait_for(&url).await;
        // Held until all listed URLs are taken, because they are in memory until then.
        let slots = shared.crawls.live.sitemaps();
        let _slot = slots.acquire(shared.lease.project).await?;
        match one(&shared, &url).await {
            Ok(Sitemap {
                pages, sitemaps, ..
            }) => {
                read += 1;
                lists += usize::from(!pages.is_empty() || sitemaps.is_empty());
                if nesting < MAX_NESTING {
                    queue.extend(sitemaps.into_iter().map(|entry| entry.url), nesting + 1);
                }
                let mut pages = pages.into_iter().map(|entry| entry.url).peekable();
                while pages.peek().is_some() {
                    let piece = pages.by_ref().take(PIECE).collect();
                    if found.send(Listed::Urls(piece)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Err(error) => {
                tracing::info!(run.id = %shared.lease.run, %error, "a sitemap can't be read");
                if is_origin && failure.is_none() && read == 0 {
                    queue.extend(named(&shared, &seed).await, 0);
                }
                // Nobody has said that there is one at this place.
                let is_guess = is_origin && url == start.as_str();
                if let Some((kind, message)) = told(&error, is_guess) {
                    let failed = FailedSitemap { url, kind, message };
                    if found.send(Listed::Failed(failed)).await.is_err() {
                        return Ok(());
                    }
                }
                failed += 1;
                failure.get_or_insert(error);
            }
        }
    }
    match failure {
        Some(error) if lists == 0 && failed > 1 => Err(error.context(format!(
            "none of {failed} sitemaps could be read; the first"
        ))),
        Some(error) if lists == 0 => Err(error),
        _ => Ok(()),
    }
}

/// How a sitemap that could not be read is listed among the run's errors: kind and message. One
/// that robots.txt disallows is not, nor one that was only guessed and is not there.
fn told(error: &anyhow::Error, is_guess: bool) -> Option<(&'static str, String)> {
    if let Some(error) = error.downcast_ref::<FetchError>() {
        let kind = (error.kind != Kind::Robots).then_some(error.kind.as_str());
        return kind.map(|kind| (kind, error.message.clone()));
    }
    let unreadable = error.downcast_ref::<NoSitemap>().filter(|_| !is_guess);
    unreadable.map(|error| (UNREADABLE_SITEMAP, error.to_string()))
}

/// Sitemaps that wait to be read, each once. Entries of an index are limited in number and
/// bytes before they are stored.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<(String, u32)>,
    /// Bytes of the waiting URLs.
    bytes: usize,
    /// Hashes of all URLs ever queued.
    known: HashSet<u64>,
}

impl Queue {
    /// Queues a URL; `false` if there is no room.
    fn push(&mut self, url: String, nesting: u32) -> bool {
        if self.known.len() >= MAX_SITEMAPS || self.bytes + url.len() > MAX_QUEUED_BYTES {
            return false;
        }
        if self.known.insert(key_hash(&url)) {
            self.bytes += url.len();
            self.waiting.push_back((url, nesting));
        }
        true
    }

    /// Queues URLs as long as there is room.
    fn extend(&mut self, urls: impl IntoIterator<Item = String>, nesting: u32) {
        for url in urls {
            if !self.push(url, nesting) {
                return;
            }
        }
    }

    fn pop(&mut self) -> Option<(String, u32)> {
        let (url, nesting) = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(url.len());
        Some((url, nesting))
    }
}

/// The sitemaps that robots.txt names.
async fn named(shared: &Shared, seed: &Url) -> Vec<String> {
    let robots = shared.robots(seed).await;
    let sitemaps = robots.robots.sitemaps().iter().take(MAX_SITEMAPS);
    sitemaps
        .filter_map(|sitemap| Some(seed.join(sitemap).ok()?.to_string()))
        .collect()
}

async fn one(shared: &Shared, url: &str) -> anyhow::Result<Sitemap> {
    let spec = &shared.spec;
    let fetcher = &shared.fetcher;
    // A sitemap of another host does not receive the seed's headers and cookies.
    let trusted = shared.trusts(url);
    let request = Request {
        headers: shared.headers(trusted),
        cookies: spec.cookies.clone().filter(|_| trusted),
        jar: Some(shared.jar.clone()),
        user_agent: Some(fetcher.user_agent(spec.user_agent.as_deref(), 0).to_owned()),
        max_bytes: Some(MAX_SITEMAP_BYTES as u64 + 1),
        oversize: Oversize::Truncate,
        ..Request::get(url)
    };
    let response = shared.fetch(request, 0).await?;
    if response.status != 200 {
        return Err(NoSitemap(format!("{url} answers {}", response.status)).into());
    }
    let parsed = blocking_of(response.body.len(), move || {
        let body = sitemap::unpack(&response.body)?;
        sitemap::parse(&body, &response.final_url)
    })
    .await?;
    parsed.map_err(|error| NoSitemap(format!("{url}: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_indexes_make_a_queue_of_limited_size() {
        let mut queue = Queue::default();
        queue.push("https://e.org/sitemap.xml".to_owned(), 0);
        let mut read = 0;
        while let Some((url, nesting)) = queue.pop() {
            read += 1;
            let long = "x".repeat(if read % 2 == 0 { 16 << 10 } else { 10 });
            queue.extend((0..50_000).map(|n| format!("{url}/{n}{long}")), nesting + 1);
            assert!(queue.bytes <= MAX_QUEUED_BYTES && queue.waiting.len() <= MAX_SITEMAPS);
            let held: usize = queue.waiting.iter().map(|(url, _)| url.len()).sum();
            assert_eq!(held, queue.bytes);
        }
        assert_eq!(read, MAX_SITEMAPS);
    }

    #[test]
    fn a_failed_sitemap_is_told_unless_it_was_guessed_or_disallowed() {
        let answered: anyhow::Error = NoSitemap("answers 503".to_owned()).into();
        let listed = Some((UNREADABLE_SITEMAP, "answers 503".to_owned()));
        assert_eq!(told(&answered, false), listed);
        assert_eq!(told(&answered, true), None);
        let silent = |kind| {
            anyhow::Error::from(FetchError {
                kind,
                sub: None,
                message: "no answer".to_owned(),
                url: "https://e.org/sitemap.xml".to_owned(),
                retryable: false,
                redirects: Vec::new(),
                wire_bytes: 0,
            })
        };
        let listed = Some(("connect", "no answer".to_owned()));
        assert_eq!(told(&silent(Kind::Connect), true), listed);
        assert_eq!(told(&silent(Kind::Robots), false), None);
    }

    #[test]
    fn a_sitemap_is_queued_once() {
        let mut queue = Queue::default();
        for url in ["a", "b", "a"] {
            queue.push(url.to_owned(), 0);
        }
        assert_eq!(queue.pop(), Some(("a".to_owned(), 0)));
        queue.push("a".to_owned(), 1);
        assert_eq!(queue.pop(), Some(("b".to_owned(), 0)));
        assert_eq!((queue.pop(), queue.bytes), (None, 0));
    }
}
