//! What an answer means for a URL that a sitemap lists.

use orbweaver_sdk::dom::{attr, tag};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::urls::{KeyRules, Resolved, key_of};
use orbweaver_sdk::{Error, Page, robots};
use orbweaver_sitemaps::Entry;
use serde::Serialize;

/// What a listed URL is. The first that fits, in the order of the declaration after `Ok`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// It answers 2xx, may be indexed, and names no other URL as canonical.
    Ok,
    /// No answer: DNS, TLS, connection, time, or robots.txt forbids to ask.
    NetworkError,
    /// 3xx.
    Redirect,
    /// 4xx.
    ClientError,
    /// 5xx, and what is no status.
    ServerError,
    /// `noindex` or `none`, in the header or a meta, for all robots or Google's.
    Noindex,
    /// Its canonical URL is another.
    CanonicalisedAway,
}

/// One listed URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// As listed, absolute.
    pub url: String,
    /// The answer's status; null without an answer.
    pub status_code: Option<u16>,
    /// What that means.
    pub bucket: Bucket,
    /// The canonical URL that the page names.
    pub canonical: Option<String>,
    /// The `X-Robots-Tag` headers, joined.
    pub x_robots_tag: Option<String>,
    /// The robots metas for all robots and Google's, joined.
    pub meta_robots: Option<String>,
    /// As the sitemap writes it.
    pub lastmod: Option<String>,
    /// Where a redirect leads.
    pub location: Option<String>,
    /// Why there was no answer.
    pub error: Option<String>,
}

impl Item {
    /// Without an answer.
    pub fn failed(entry: Entry, error: &Error) -> Self {
        Self {
            url: entry.url,
            status_code: None,
            bucket: Bucket::NetworkError,
            canonical: None,
            x_robots_tag: None,
            meta_robots: None,
            lastmod: entry.lastmod,
            location: None,
            error: Some(error.message().to_owned()),
        }
    }

    /// By its answer.
    pub fn of(entry: Entry, page: &Page<'_>) -> Self {
        let status = page.status();
        let joined = |values: Vec<&str>| (!values.is_empty()).then(|| values.join(", "));
        let mut item = Self {
            url: entry.url,
            status_code: Some(status),
            bucket: match status {
                200..=299 => Bucket::Ok,
                300..=399 => Bucket::Redirect,
                400..=499 => Bucket::ClientError,
                _ => Bucket::ServerError,
            },
            canonical: None,
            x_robots_tag: joined(page.header_values("x-robots-tag").map(str::trim).collect()),
            meta_robots: None,
            lastmod: entry.lastmod,
            location: None,
            error: None,
        };
        match item.bucket {
            Bucket::Redirect => {
                let to = page.header("location").and_then(|to| page.base()?.join(to));
                item.location = to.map(Resolved::into_string);
            }
            Bucket::Ok => item.read(page),
            _ => {}
        }
        item
    }

    /// What a page says of itself. A document that is none, such as a PDF, only has headers.
    fn read(&mut self, page: &Page<'_>) {
        if let Ok(head) = Head::of(page) {
            self.canonical = head.canonical(page);
        }
        if let Ok(view) = page.view() {
            let metas: Vec<&str> = view
                .nodes()
                .filter(|node| node.tag() == tag::META)
                .filter(|node| node.attr(attr::NAME).is_some_and(is_for_search))
                .filter_map(|node| node.attr(attr::CONTENT))
                .map(str::trim)
                .collect();
            self.meta_robots = (!metas.is_empty()).then(|| metas.join(", "));
        }
        let directives = robots::directives(page).unwrap_or_default();
        let hidden = directives
            .iter()
            .filter(|d| d.agent.is_none_or(is_for_search))
            .any(|d| d.is("noindex") || d.is("none"));
        if hidden {
            self.bucket = Bucket::Noindex;
        } else if let Some(canonical) = &self.canonical
            && key(canonical) != key(&self.url)
        {
            self.bucket = Bucket::CanonicalisedAway;
        }
    }
}

/// The robots whose directives decide whether the page is in a search engine's index.
fn is_for_search(agent: &str) -> bool {
    let agent = agent.trim();
    agent.eq_ignore_ascii_case("robots") || agent.eq_ignore_ascii_case("googlebot")
}

/// One spelling of a URL. Parameters that only track are part of it: a canonical URL
/// without them is another URL, and the one that should be listed.
fn key(url: &str) -> Option<String> {
    let rules = KeyRules {
        drop_tracking: false,
    };
    Resolved::parse(url).map(|url| key_of(&url, rules))
}
