//! One streaming pass over a page: its links, title, canonical URL, base, robots
//! directives, and the hash of what a reader sees.
//!
//! This runs for every crawled page, so it parses no tree: `lol_html` tokenises, and what
//! lies between two texts is read from the source itself. Nothing is allocated per token.

mod entities;
mod gap;
mod hash;
mod links;
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
    /// The page broke the tokeniser's memory limit: the rest is unread, and the hash is
    /// of the whole source instead.
    pub degraded: bool,
}

#[cfg(test)]
mod tests;
