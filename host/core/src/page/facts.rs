//! The result of a pass over a page.

use orbweaver_markup::Refresh;

use super::links::Links;
use super::robots_meta::Directives;

/// The result of a pass over a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFacts {
    /// The first `title`, white space collapsed.
    pub title: Option<String>,
    /// The first `link rel=canonical`, resolved.
    pub canonical: Option<String>,
    /// Base URL of links: the page's URL, or its first usable `base`.
    pub base: String,
    /// Directives of `meta name=robots`, and of those that name this crawler.
    pub robots: Directives,
    /// `meta http-equiv=refresh`.
    pub refresh: Option<Refresh>,
    /// Links of `a` and `area`, in document order.
    pub links: Links,
    /// Those in `noscript`s that are not the page: links of the page only where scripts are off (HTML,
    /// section 4.12.2).
    pub noscript_links: Links,
    /// Lower-case hex SHA-256 of the visible text with title and canonical URL.
    pub content_hash: String,
    /// Characters of the visible text, white space collapsed.
    pub text_chars: u64,
}
