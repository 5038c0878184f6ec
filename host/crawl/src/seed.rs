//! Sitemaps as the start of a run: they are read, and the listed URLs are crawled without
//! following links.

mod pages;
mod queue;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use orbweaver_core::limits::MAX_SITEMAP_BYTES;
use orbweaver_core::retry_after::retry_after;
use orbweaver_core::sitemap::{self, NotSitemap, Sitemap};
use orbweaver_fetch::{FetchError, Kind, Oversize, Request, Response};
use orbweaver_urls::Resolved;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::entry::host_key;
use crate::shared::Shared;
use orbweaver_pipeline::blocking_of;
use orbweaver_store::crawl::UNREADABLE_SITEMAP;
use pages::Pages;
use queue::{MAX_SITEMAPS, Queue};

/// Why sitemaps were left out that an index lists.
const LEFT_OUT: &str = "sitemaps that it lists are left out, because a run reads at most 50,000 and lets at most 4 MiB of \
    their URLs wait";
/// Listed URLs sent at a time.
pub(super) const PIECE: usize = 1_000;

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
    pub(super) attempts: u32,
}

/// What answered is no sitemap.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct NoSitemap {
    message: String,
    /// Whether the server is busy, and how long it asks to wait.
    busy: Option<Duration>,
    /// The site that answered, if it is another one than was asked.
    site: Option<Resolved>,
}

impl NoSitemap {
    fn new(message: String, site: Option<Resolved>) -> Self {
        Self {
            message,
            busy: None,
            site,
        }
    }
}

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
    // The site that the seed's place for a sitemap redirects to, though there is none.
    let mut moved = None;
    // How often the first one that waits was asked for in vain.
    let mut attempts = 0;
    while let Some((url, taken)) = queue.next() {
        if wanted.wait_for(|wanted| *wanted).await.is_err() {
            return Ok(());
        }
        shared.wait_for(&url).await;
        // Held until all listed URLs are taken, because they are in memory until then.
        let slots = shared.crawls.live.sitemaps();
        let slot = slots.acquire(shared.lease.project).await?;
        match one(&shared, &url, moved.as_ref(), &mut queue.read_bytes).await {
            Ok(ReadSitemap { sitemap, site }) => {
                attempts = 0;
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
                        attempts: 1,
                    })
                });
                let urls = pages.into_iter().skip(taken).map(|entry| entry.url);
                let mut pages = Pages::new(urls.collect(), slot);
                for told in cut.into_iter().chain(site.map(Listed::Site)) {
                    if !pages.hand_over(told, &found, &mut wanted).await {
                        return Ok(());
                    }
                }
                while let Some(piece) = pages.next() {
                    let piece = Listed::Urls(piece);
                    if !pages.hand_over(piece, &found, &mut wanted).await {
                        return Ok(());
                    }
                }
                if pages.is_cut {
                    queue.read_on(url, taken + pages.taken);
                }
            }
            Err(error) => {
                drop(slot);
                attempts += 1;
                if let Some(wait) = wait_before_another(&shared, &url, &error, attempts) {
                    tokio::select! {
                        () = sleep(wait) => {}
                        () = found.closed() => return Ok(()),
                    }
                    queue.read_on(url, taken);
                    continue;
                }
                let attempts = std::mem::take(&mut attempts);
                tracing::info!(run.id = %shared.lease.run, %error, "a sitemap can't be read");
                if is_origin && failure.is_none() && read == 0 {
                    queue.extend(named(&shared, &seed).await);
                }
                // Nobody has said that there is one at this place.
                let is_guess = is_origin && url == start.as_str();
                if is_guess && let Some(answer) = error.downcast_ref::<NoSitemap>() {
                    moved.clone_from(&answer.site);
                }
                if let Some((kind, message)) = told(&error, is_guess) {
                    let failed = FailedSitemap {
                        url,
                        kind,
                        message,
                        attempts,
                    };
                    if found.send(Listed::Failed(failed)).await.is_err() {
                        return Ok(());
                    }
                }
                failed += 1;
                failure.get_or_insert(error);
            }
        }
    }
    if let Some((url, _)) = queue.pop() {
        let more = queue.len();
        let message = format!(
            "{url} and {more} more are left out, because a run reads at most {} GiB of sitemaps",
            queue::MAX_BYTES >> 30
        );
        let left_out = Listed::Failed(FailedSitemap {
            url,
            kind: UNREADABLE_SITEMAP,
            message,
            attempts: 1,
        });
        if found.send(left_out).await.is_err() {
            return Ok(());
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

/// How long to wait before a sitemap is asked for again, as a page is: after no answer, or one of a busy
/// server, whose wish to be left alone holds for pages, too. `None` where another attempt is of no use, or
/// one too many.
fn wait_before_another(
    shared: &Shared,
    url: &str,
    error: &anyhow::Error,
    attempts: u32,
) -> Option<Duration> {
    let config = &shared.crawls.config;
    let max = config.max_wait_ms.as_duration();
    let asked = match error.downcast_ref::<NoSitemap>() {
        Some(answer) => answer.busy?.min(max),
        None => error
            .downcast_ref::<FetchError>()
            .filter(|error| error.retryable)
            .map(|_| Duration::ZERO)?,
    };
    if !asked.is_zero()
        && let Some(url) = Resolved::parse(url)
    {
        shared
            .turn(&host_key(&url))
            .close_until(Instant::now() + asked);
    }
    if attempts > config.retries {
        return None;
    }
    let base = config.retry_base_ms.as_duration();
    let wait = base.saturating_mul(1 << (attempts - 1).min(10));
    Some(wait.max(asked).min(max))
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
    /// Only if it lists something of that site, and it was asked of the seed's host, or that is known to
    /// have moved there.
    site: Option<Resolved>,
}

/// Reads a sitemap; adds the bytes of what answered to `read_bytes`. `moved`: the site to which the seed's
/// has moved, where that is known.
async fn one(
    shared: &Shared,
    url: &str,
    moved: Option<&Resolved>,
    read_bytes: &mut u64,
) -> anyhow::Result<ReadSitemap> {
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
    let response = match shared.fetch(request, 0).await {
        Ok(response) => response,
        Err(error) => {
            *read_bytes += error.wire_bytes;
            return Err(error.into());
        }
    };
    *read_bytes += response.body.len() as u64;
    let site =
        Resolved::parse(&response.final_url).filter(|landed| !is_same_site(url, landed.as_str()));
    if response.status != 200 {
        let status = response.status;
        let now = SystemTime::from(shared.crawls.clock.now());
        let asked = response.headers.get("retry-after");
        let asked = asked.filter(|_| matches!(status, 429 | 503));
        let asked = asked.and_then(|value| retry_after(value, now));
        let is_busy = matches!(status, 429 | 502 | 503 | 504);
        return Err(NoSitemap {
            message: format!("{url} answers {status}"),
            busy: is_busy.then_some(asked.unwrap_or_default()),
            site,
        }
        .into());
    }
    let answered = site.iter().filter(|_| is_same_site(&spec.url, url));
    let in_place: Vec<Resolved> = answered.chain(moved).cloned().collect();
    let received = response.body.len();
    let (parsed, unpacked) = blocking_of(received, move || {
        let body = match sitemap::unpack(&response.body) {
            Ok(body) => body,
            Err(error) => return (Err(error), 0),
        };
        let parsed = sitemap::parse(&body, &response.final_url);
        let parsed = parsed.map(|sitemap| landed(sitemap, &response, in_place));
        (parsed, body.len())
    })
    .await?;
    *read_bytes += unpacked.saturating_sub(received) as u64;
    parsed.map_err(|error: NotSitemap| NoSitemap::new(format!("{url}: {error}"), site).into())
}

/// A sitemap, with the first of the sites in the seed's place of which it lists something, and whether its
/// end was received.
fn landed(mut sitemap: Sitemap, response: &Response, in_place: Vec<Resolved>) -> ReadSitemap {
    // The end of its coding is missing; what is beyond the limit is cut by the parser.
    let is_short = response.truncated && response.body.len() <= MAX_SITEMAP_BYTES;
    sitemap.malformed |= is_short;
    let lists = |site: &Resolved| {
        let mut listed = sitemap.pages.iter().chain(&sitemap.sitemaps);
        listed.any(|entry| is_same_site(&entry.url, site.as_str()))
    };
    let site = in_place.into_iter().find(lists);
    ReadSitemap { sitemap, site }
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
    fn a_failed_sitemap_is_told_unless_it_was_guessed_or_disallowed() {
        let answered: anyhow::Error = NoSitemap::new("answers 503".to_owned(), None).into();
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
