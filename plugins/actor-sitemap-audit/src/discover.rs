//! Finds a site's sitemaps and the URLs that they list.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use orbweaver_robots::Robots;
use orbweaver_sdk::http::{Request, fetch};
use orbweaver_sdk::urls::Resolved;
use orbweaver_sdk::{Error, Page};
use orbweaver_sitemaps::{Entry, parse_text, unpack};

use crate::Sitemap;
use crate::bucket::key;

/// Most sitemaps read of one site. An index may name 50,000, but these are enough for a site of two
/// million URLs.
const MAX_SITEMAPS: usize = 1_000;

/// Usual places of sitemaps, tried if robots.txt names none.
const USUAL: &[&str] = &[
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/sitemap.txt",
];

/// Result of the discovery.
#[derive(Debug, Default)]
pub struct Found {
    /// The sitemaps read, and those that failed.
    pub sitemaps: Vec<Sitemap>,
    /// Number of distinct URLs listed.
    pub total: u64,
    /// The first of these URLs.
    pub urls: Vec<Entry>,
}

/// A sitemap to be read.
struct Waiting {
    url: String,
    /// Number of indexes above it.
    depth: u8,
    /// Whether its URL is only a guess, so that it may be missing.
    guessed: bool,
}

/// Reads the sitemaps of a site, or the single sitemap `url`, and keeps the first `limit` listed
/// URLs. No further sitemap is started after `until`. Sitemap files are fetched even if robots.txt
/// disallows them, because they are meant for robots.
pub async fn discover(url: &str, limit: usize, until: Instant) -> Result<Found, Error> {
    let site =
        Resolved::parse(url).ok_or_else(|| Error::invalid("url: must be an http or https URL"))?;
    let given = given(&site);
    let mut waiting = match given {
        Given::Page => starts(&site).await?,
        Given::Sitemap | Given::Either => VecDeque::from([Waiting::named(site.without_fragment())]),
    };
    let mut seen: HashSet<String> = HashSet::new();
    let mut listed: HashSet<u64> = HashSet::new();
    let hasher = std::hash::RandomState::new();
    let mut found = Found::default();
    let mut unreachable = None;
    while let Some(next) = waiting.pop_front() {
        // One correct guess is enough.
        if next.guessed && !found.sitemaps.is_empty() || !seen.insert(next.url.clone()) {
            continue;
        }
        if found.sitemaps.len() >= MAX_SITEMAPS
            || !found.sitemaps.is_empty() && Instant::now() >= until
        {
            break;
        }
        let (sitemap, error) = match read(&next.url).await {
            Ok(read) => read,
            Err(Answer::None(error)) => {
                unreachable.get_or_insert_with(|| error.clone());
                if !next.guessed {
                    found.sitemaps.push(Sitemap {
                        url: next.url,
                        entries: 0,
                        error: Some(error.message().to_owned()),
                    });
                }
                continue;
            }
            // The only URL so far: it is a page of the site.
            Err(Answer::NoSitemap(_)) if given == Given::Either && seen.len() == 1 => {
                waiting = starts(&site).await?;
                continue;
            }
            Err(Answer::Status(error) | Answer::NoSitemap(error)) => {
                unreachable = None;
                if !next.guessed {
                    found.sitemaps.push(Sitemap {
                        url: next.url,
                        entries: 0,
                        error: Some(error),
                    });
                }
                continue;
            }
        };
        let mut report = Sitemap {
            url: next.url,
            entries: (sitemap.pages.len() + sitemap.sitemaps.len()) as u64,
            error,
        };
        if !sitemap.sitemaps.is_empty() {
            if next.depth == 0 {
                waiting.extend(sitemap.sitemaps.into_iter().map(|entry| Waiting {
                    url: entry.url,
                    depth: 1,
                    guessed: false,
                }));
            } else {
                report.error = Some("an index inside an index: not followed".to_owned());
            }
        }
        for entry in sitemap.pages {
            // URLs that are only counted are kept as hashes. Spellings of one URL are one request, as
            // they are in the bill.
            let key = key(&entry.url);
            let key = key.as_deref().unwrap_or(&entry.url);
            if listed.insert(std::hash::BuildHasher::hash_one(&hasher, key)) {
                found.total += 1;
                if found.urls.len() < limit {
                    found.urls.push(entry);
                }
            }
        }
        found.sitemaps.push(report);
    }
    match unreachable {
        // Nothing could be fetched, which does not mean that the site lists nothing.
        Some(error) if found.total == 0 && found.sitemaps.iter().all(|s| s.error.is_some()) => {
            Err(error)
        }
        _ => Ok(found),
    }
}

impl Waiting {
    /// A sitemap that the caller or robots.txt names.
    fn named(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            depth: 0,
            guessed: false,
        }
    }
}

/// What a URL says of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// A sitemap.
    Sitemap,
    /// A page of a site.
    Page,
    /// Its name has `sitemap` in it, as that of a sitemap made by a program, or of a page on them.
    Either,
}

fn given(site: &Resolved) -> Given {
    let path = site.path().to_ascii_lowercase();
    let is_file = [".xml", ".xml.gz", ".txt", ".txt.gz", ".rss", ".atom"]
        .iter()
        .any(|end| path.ends_with(end));
    match (is_file, path.contains("sitemap")) {
        (true, _) => Given::Sitemap,
        (false, true) => Given::Either,
        (false, false) => Given::Page,
    }
}

/// The first sitemaps of a site: those of robots.txt, else the usual places.
async fn starts(site: &Resolved) -> Result<VecDeque<Waiting>, Error> {
    let at = |path: &str| {
        let port = site.port();
        let colon = if port.is_empty() { "" } else { ":" };
        format!("{}://{}{colon}{port}{path}", site.scheme(), site.host())
    };
    let mut waiting = VecDeque::new();
    match fetch(Request::get(at("/robots.txt")).respect_robots(false)).await {
        Ok(page) if page.status() == 200 => {
            let robots = Robots::parse(&page.body());
            for named in robots.sitemaps() {
                let url = page.base().and_then(|base| base.join(named));
                waiting.extend(url.map(|url| Waiting::named(url.without_fragment())));
            }
        }
        Ok(_) => {}
        // The host is unreachable: requests for sitemaps would only take as long again.
        Err(error) => return Err(error),
    }
    if waiting.is_empty() {
        waiting.extend(USUAL.iter().map(|path| Waiting {
            url: at(path),
            depth: 0,
            guessed: true,
        }));
    }
    Ok(waiting)
}

/// Why a sitemap could not be read.
enum Answer {
    /// There was no response.
    None(Error),
    /// The response has another status than 200.
    Status(String),
    /// The response is not a sitemap.
    NoSitemap(String),
}

async fn read(url: &str) -> Result<(orbweaver_sitemaps::Sitemap, Option<String>), Answer> {
    let page = fetch(Request::get(url).respect_robots(false))
        .await
        .map_err(Answer::None)?;
    if page.status() != 200 {
        return Err(Answer::Status(format!("HTTP {}", page.status())));
    }
    let sitemap = parse(&page).map_err(|error| Answer::NoSitemap(error.to_string()))?;
    let error = match (sitemap.malformed, sitemap.truncated) {
        (true, _) => Some("not well-formed XML: read as far as possible".to_owned()),
        (_, true) => Some("more than 50,000 entries or 50 MiB: read up to there".to_owned()),
        _ => None,
    };
    Ok((sitemap, error))
}

fn parse(page: &Page<'_>) -> Result<orbweaver_sitemaps::Sitemap, orbweaver_sitemaps::NotSitemap> {
    let url = page.final_url();
    let body = page.body();
    if body.starts_with(&[0x1f, 0x8b]) {
        let unpacked = unpack(&body)?;
        return parse_text(&String::from_utf8_lossy(&unpacked), url);
    }
    // Text was already decoded by the host, in any charset.
    match page.html() {
        "" => parse_text(&String::from_utf8_lossy(&body), url),
        text => parse_text(text, url),
    }
}
