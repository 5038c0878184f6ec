//! Classifies the URLs listed in sitemaps by their responses.

use orbweaver_sdk::dom::{attr, tag};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::urls::{KeyRules, Resolved, key_of};
use orbweaver_sdk::{Error, Page, robots};
use orbweaver_sitemaps::Entry;
use serde::Serialize;

/// Class of a listed URL. The first that fits, in the order of declaration, with `Ok` last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// It responds with 2xx, may be indexed, and names no other canonical URL.
    Ok,
    /// No response: DNS, TLS, connection, time-out, or disallowed by robots.txt.
    NetworkError,
    /// 3xx.
    Redirect,
    /// 4xx.
    ClientError,
    /// 5xx, or an invalid status.
    ServerError,
    /// `noindex` or `none`, in the header or a meta, for all robots or for Google's.
    Noindex,
    /// It has another canonical URL.
    CanonicalisedAway,
}

/// One listed URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// As listed, absolute.
    pub url: String,
    /// Status of the response; null without a response.
    pub status_code: Option<u16>,
    /// Its class.
    pub bucket: Bucket,
    /// Canonical URL named by the page.
    pub canonical: Option<String>,
    /// The `X-Robots-Tag` headers, joined.
    pub x_robots_tag: Option<String>,
    /// The robots metas for all robots and Google's, joined.
    pub meta_robots: Option<String>,
    /// As written in the sitemap.
    pub lastmod: Option<String>,
    /// Target of a redirect.
    pub location: Option<String>,
    /// Why there was no response.
    pub error: Option<String>,
}

impl Item {
    /// Result without a response.
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

    /// Result of a response.
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

    /// Reads a page's own statements. A document that is not HTML, such as a PDF, only has headers.
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

/// Whether the directives of this robot decide about a search engine's index.
fn is_for_search(agent: &str) -> bool {
    let agent = agent.trim();
    agent.eq_ignore_ascii_case("robots") || agent.eq_ignore_ascii_case("googlebot")
}

/// Normalises a URL. Tracking parameters are kept: a canonical URL without them is a different URL,
/// which the sitemap should list instead.
pub(crate) fn key(url: &str) -> Option<String> {
    let rules = KeyRules {
        drop_tracking: false,
    };
    Resolved::parse(url).map(|url| key_of(&url, rules))
}
