//! A site of thousands of pages, made from a seed and held in memory, and a server for it
//! that costs so little that it is not what a benchmark measures.
//!
//! A page has a menu, a way up, an article with headings, figures, tables and links in its
//! text, related pages and a footer; its links are absolute, relative, with fragments, to
//! another host, to mail. Every page can be reached over at most seven links. One page in
//! forty links to a page that is not there, one in forty to a redirect; some leaves are
//! copies of others. robots.txt names a sitemap index of two sitemaps, one of them gzip'd.

mod content;
mod pages;
mod server;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

pub use server::LargeSite;

/// What a large site is like. The same specification makes the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSpec {
    /// How many pages.
    pub pages: usize,
    /// The mean length of a page's HTML; each has 70 to 130 % of it.
    pub page_bytes: usize,
    /// Links on a page.
    pub links: usize,
    /// What everything is derived from.
    pub seed: u64,
    /// From 1 on: every twentieth page says its edition, so that two editions differ in those.
    pub edition: u32,
    /// Level of gzip.
    pub level: u32,
    /// robots.txt instead of one that allows everything and names the sitemap.
    pub robots: Option<String>,
    /// How long an answer waits.
    pub latency: Duration,
    /// Whether requests are recorded one by one. They are counted in any case.
    pub record: bool,
}

impl SiteSpec {
    /// A site of so many pages of 38 KB with 60 links each, every request recorded.
    pub fn pages(pages: usize) -> Self {
        Self {
            pages,
            page_bytes: 38_000,
            links: 60,
            seed: 1,
            edition: 0,
            level: 6,
            robots: None,
            latency: Duration::ZERO,
            record: true,
        }
    }

    /// A site of so many pages of 3 KB with 20 links each, for tests that count pages.
    pub fn small_pages(pages: usize) -> Self {
        Self {
            page_bytes: 3_000,
            links: 20,
            level: 1,
            ..Self::pages(pages)
        }
    }
}
