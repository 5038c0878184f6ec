//! One streaming pass over a page: its links, title, canonical URL, base, robots
//! directives, and the hash of what a reader sees.
//!
//! This runs for every crawled page, so it builds no tree and no tokens: tags and texts are
//! ranges of the source, and nothing is allocated for them.

mod hash;
mod links;
mod open;
mod pass;
mod robots_meta;

pub use links::{Link, Links};
pub use pass::{page_pass, page_text};
pub use robots_meta::{Directives, Refresh, x_robots_tag};

/// What a pass finds in a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFacts {
    /// The first `title`, white space collapsed.
    pub title: Option<String>,
    /// The first `link rel=canonical`, resolved.
    pub canonical: Option<String>,
    /// What links are resolved against: the page's URL, or its first usable `base`.
    pub base: String,
    /// `meta name=robots`, and those that name our crawler.
    pub robots: Directives,
    /// `meta http-equiv=refresh`.
    pub refresh: Option<Refresh>,
    /// Links of `a` and `area`, in document order.
    pub links: Links,
    /// Lower-case hex SHA-256 of the visible text with title and canonical URL.
    pub content_hash: String,
    /// Characters of the visible text, white space collapsed.
    pub text_chars: u64,
}

#[cfg(test)]
mod tests;
