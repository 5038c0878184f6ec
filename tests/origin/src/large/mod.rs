//! A site of thousands of pages, made from a seed and held in memory, and a server for it
//! that is so cheap that a benchmark does not measure it.
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

/// The specification of a large site. The same specification makes the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSpec {
    /// The number of pages.
    pub pages: usize,
    /// The mean length of a page's HTML; each page has 70 to 130 % of it.
    pub page_bytes: usize,
    /// Links on a page.
    pub links: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// From 1 on: every twentieth page names its edition, so that two editions differ in those.
    pub edition: u32,
    /// The level of gzip.
    pub level: u32,
    /// Replaces the robots.txt that allows everything and names the sitemap.
    pub robots: Option<String>,
    /// The delay of each answer.
    pub latency: Duration,
    /// Whether requests are recorded one by one. They are always counted.
    pub record: bool,
}

impl SiteSpec {
    /// A site with this many pages of 38 KB with 60 links each; every request is recorded.
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

    /// A site with this many pages of 3 KB with 20 links each, for tests that count pages.
    pub fn small_pages(pages: usize) -> Self {
        Self {
            page_bytes: 3_000,
            links: 20,
            level: 1,
            ..Self::pages(pages)
        }
    }
}
