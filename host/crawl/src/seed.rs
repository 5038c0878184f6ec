//! Sitemaps as the start of a run: they are read, and the listed URLs are crawled without
//! following links.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use orbweaver_core::key_hash::key_hash;
use orbweaver_core::limits::MAX_SITEMAP_BYTES;
use orbweaver_core::sitemap::{self, NotSitemap, Sitemap};
use orbweaver_fetch::{FetchError, Kind, Oversize, Request};
use orbweaver_urls::Resolved;
use tokio::sync::{mpsc, watch};
use url::Url;

use crate::shared::Shared;
use orbweaver_pipeline::blocking_of;
use orbweaver_store::crawl::UNREADABLE_SITEMAP;

/// Maximum number of sitemaps of a run.
const MAX_SITEMAPS: usize = 50_000;
/// Maximum bytes of the URLs of sitemaps that wait to be read.
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// Why sitemaps were left out that an index lists.
const LEFT_OUT: &str = "sitemaps that it lists are left out, because a run reads at most 50,000 and lets at most 4 MiB of \
    their URLs wait";
/// Listed URLs sent at a time.
pub(super) const PIECE: usize = 1_000;
/// Bytes of listed URLs that are held while the run wants no more.
const MAX_HELD_BYTES: usize = 4 << 20;

/// What came of a sitemap.
pub(super) enum Listed {
    /// The site that a sitemap of the seed's host redirects to, and of which it lists something.
    Site(Resolved),
    /// Some of the URLs that it lists.
    Urls(Vec<String>),
    /// It could not be read, or only a part of it.
    Failed(FailedSitemap),
}

/// A sitemap that could not be read, or only in part.
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

/// Reads the run's sitemaps and hands over what they list, in order, as long as it is wanted. Ends
/// when everything is read or nobody takes any more.
///
/// # Errors
/// Why no URLs can be read: some sitemap failed, and none of the others lists URLs.
pub(super) async fn read(
    shared: Arc<Shared>,
    found: mpsc::Sender<Listed>,
    mut wanted: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let seed = Url::parse(&shared.spec.url)?;
    let is_origin = seed.path() == "/" && seed.query().is_none();
    let start = if is_origin {
        seed.join("/sitemap.xml")?
    } else {
        seed.clone()
    };
    let mut queue = Queue::default();
    queue.push(start.to_string());
    // Sitemaps that were read, and those of them that are no index.
    let (mut read, mut lists, mut failed) = (0, 0, 0_u32);
    let mut failure = None;
    while let Some((url, taken)) = queue.pop() {
        if wanted.wait_for(|wanted| *wanted).await.is_err() {
            return Ok(());
        }
        shared.wait_for(&url).await;
        // Held until all listed URLs are taken, because they are in memory until then.
        let slots = shared.crawls.live.sitemaps();
        let slot = slots.acquire(shared.lease.project).await?;
        match one(&shared, &url).await {
            Ok(ReadSitemap { sitemap, site }) => {
                let mut causes: Vec<&str> = sitemap::cut(&sitemap).into_iter().collect();
                let Sitemap {
                    pages, sitemaps, ..
                } = sitemap;
                read += 1;
                lists += usize::from(!pages.is_empty() || sitemaps.is_empty());
                if !queue.extend(sitemaps.into_iter().map(|entry| entry.url)) {
                    causes.push(LEFT_OUT);
                }
                let cut = (!causes.is_empty()).then(|| {
                    Listed::Failed(FailedSitemap {
                        url: url.clone(),
                        kind: UNREADABLE_SITEMAP,
                        message: format!("{url}: {}", causes.join("; ")),
                    })
                });
                for told in cut.into_iter().chain(site.map(Listed::Site)) {
                    if found.send(told).await.is_err() {
                        return Ok(());
                    }
                }
                let pages = pages.into_iter().skip(taken).map(|entry| entry.url);
                let mut pages = Pages::new(pages.collect(), slot);
                loop {
                    let is_wanted = *wanted.borrow();
                    let Some(piece) = pages.next(is_wanted) else {
                        break;
                    };
                    if found.send(Listed::Urls(piece)).await.is_err() {
                        return Ok(());
                    }
                }
                if pages.is_cut {
                    queue.read_on(url, taken + pages.taken);
                }
            }
            Err(error) => {
                tracing::info!(run.id = %shared.lease.run, %error, "a sitemap can't be read");
                if is_origin && failure.is_none() && read == 0 {
                    queue.extend(named(&shared, &seed).await);
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

/// The URLs that a sitemap lists, as they are taken.
struct Pages<S> {
    urls: std::vec::IntoIter<String>,
    /// The right to have them all in memory.
    slot: Option<S>,
    /// How many were taken.
    taken: usize,
    /// The last ones were forgotten.
    is_cut: bool,
}

impl<S> Pages<S> {
    fn new(urls: Vec<String>, slot: S) -> Self {
        Self {
            urls: urls.into_iter(),
            slot: Some(slot),
            taken: 0,
            is_cut: false,
        }
    }

    /// The next ones. A run that wants no more may go on for hours: others are not kept waiting
    /// meanwhile, and of many URLs only the first are held.
    fn next(&mut self, is_wanted: bool) -> Option<Vec<String>> {
        if !is_wanted && self.slot.take().is_some() {
            let (mut bytes, all) = (0, self.urls.len());
            let held = self.urls.by_ref().take_while(|url| {
                bytes += url.len();
                bytes <= MAX_HELD_BYTES
            });
            let held: Vec<String> = held.collect();
            self.is_cut = held.len() < all;
            self.urls = held.into_iter();
        }
        let piece: Vec<String> = self.urls.by_ref().take(PIECE).collect();
        self.taken += piece.len();
        (!piece.is_empty()).then_some(piece)
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
    /// Each with the number of URLs that were taken of it before.
    waiting: VecDeque<(String, usize)>,
    /// Bytes of the waiting URLs.
    bytes: usize,
    /// Hashes of all URLs ever queued.
    known: HashSet<u64>,
}

impl Queue {
    /// Queues a URL; `false` if there is no room.
    fn push(&mut self, url: String) -> bool {
        let hash = key_hash(&url);
        if self.known.contains(&hash) {
            return true;
        }
        if self.known.len() >= MAX_SITEMAPS || self.bytes + url.len() > MAX_QUEUED_BYTES {
            return false;
        }
        self.known.insert(hash);
        self.bytes += url.len();
        self.waiting.push_back((url, 0));
        true
    }

    /// Queues URLs as long as there is room; whether there was for all.
    fn extend(&mut self, urls: impl IntoIterator<Item = String>) -> bool {
        urls.into_iter().all(|url| self.push(url))
    }

    /// Lets a sitemap be read again next, of which so many URLs were taken.
    fn read_on(&mut self, url: String, taken: usize) {
        self.bytes += url.len();
        self.waiting.push_front((url, taken));
    }

    fn pop(&mut self) -> Option<(String, usize)> {
        let (url, taken) = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(url.len());
        Some((url, taken))
    }
}

/// The sitemaps that robots.txt names.
async fn named(shared: &Shared, seed: &Url) -> Vec<String> {
    let robots = shared.robots(seed, false).await.answer;
    let sitemaps = robots.robots.sitemaps().iter().take(MAX_SITEMAPS);
    sitemaps
        .filter_map(|sitemap| Some(seed.join(sitemap).ok()?.to_string()))
        .collect()
}

/// A sitemap, and the site that it redirects to.
struct ReadSitemap {
    sitemap: Sitemap,
    /// Only if it was asked of the seed's host, and lists something of that site.
    site: Option<Resolved>,
}

async fn one(shared: &Shared, url: &str) -> anyhow::Result<ReadSitemap> {
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
    let is_of_seed = is_same_site(&spec.url, url);
    let asked = url.to_owned();
    let parsed = blocking_of(response.body.len(), move || {
        let body = sitemap::unpack(&response.body)?;
        let mut sitemap = sitemap::parse(&body, &response.final_url)?;
        // The end of its coding is missing; what is beyond the limit is cut by the parser.
        let is_short = response.truncated && response.body.len() <= MAX_SITEMAP_BYTES;
        sitemap.malformed |= is_short;
        let landed = &response.final_url;
        let is_elsewhere = is_of_seed && !is_same_site(&asked, landed);
        let mut listed = sitemap.pages.iter().chain(&sitemap.sitemaps);
        let lists_own = is_elsewhere && listed.any(|entry| is_same_site(&entry.url, landed));
        let site = Resolved::parse(landed).filter(|_| lists_own);
        Ok(ReadSitemap { sitemap, site })
    })
    .await?;
    parsed.map_err(|error: NotSitemap| NoSitemap(format!("{url}: {error}")).into())
}

/// Whether two URLs have the same host and port.
fn is_same_site(one: &str, other: &str) -> bool {
    let pair = Resolved::parse(one).zip(Resolved::parse(other));
    pair.is_some_and(|(one, other)| one.host() == other.host() && one.port() == other.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_indexes_make_a_queue_of_limited_size() {
        let mut queue = Queue::default();
        queue.push("https://e.org/sitemap.xml".to_owned());
        let (mut read, mut all) = (0, true);
        while let Some((url, _)) = queue.pop() {
            read += 1;
            let long = "x".repeat(if read % 2 == 0 { 16 << 10 } else { 10 });
            let name = key_hash(&url);
            all &= queue.extend((0..50_000).map(|n| format!("https://e.org/{name}/{n}{long}")));
            assert!(queue.bytes <= MAX_QUEUED_BYTES && queue.waiting.len() <= MAX_SITEMAPS);
        }
        assert_eq!((read, all, queue.bytes), (MAX_SITEMAPS, false, 0));
    }

    #[test]
    fn a_run_that_wants_no_more_holds_few_urls_and_no_slot() {
        let urls = |count: usize| (0..count).map(|n| format!("{n:0>1000}"));
        let slot = Arc::new(());
        let mut pages = Pages::new(urls(10_000).collect(), Arc::clone(&slot));
        assert_eq!(pages.next(true).map(|piece| piece.len()), Some(PIECE));
        assert_eq!((Arc::strong_count(&slot), pages.is_cut), (2, false));
        let mut taken = PIECE;
        while let Some(piece) = pages.next(false) {
            assert_eq!(Arc::strong_count(&slot), 1);
            assert_eq!(piece.first(), urls(10_000).nth(taken).as_ref());
            taken += piece.len();
        }
        assert_eq!(
            (taken, pages.taken),
            (PIECE + MAX_HELD_BYTES / 1_000, taken)
        );
        assert!(pages.is_cut);
        let mut few = Pages::new(urls(10).collect(), ());
        assert_eq!(few.next(false).map(|piece| piece.len()), Some(10));
        assert_eq!((few.next(false), few.is_cut), (None, false));
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
    fn a_sitemap_is_queued_once_and_read_on() {
        let mut queue = Queue::default();
        for url in ["a", "b", "a"] {
            assert!(queue.push(url.to_owned()));
        }
        assert_eq!(queue.pop(), Some(("a".to_owned(), 0)));
        queue.push("a".to_owned());
        queue.read_on("a".to_owned(), 7);
        assert_eq!(queue.pop(), Some(("a".to_owned(), 7)));
        assert_eq!(queue.pop(), Some(("b".to_owned(), 0)));
        assert_eq!((queue.pop(), queue.bytes), (None, 0));
    }

    #[test]
    fn a_site_is_a_host_with_its_port() {
        for (one, other, same) in [
            ("http://e.org/a", "https://e.org/b", true),
            ("http://e.org/", "http://www.e.org/", false),
            ("http://e.org:8000/", "http://e.org/", false),
        ] {
            assert_eq!(is_same_site(one, other), same, "{one} {other}");
        }
    }
}
