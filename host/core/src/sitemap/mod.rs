//! Sitemaps: the parser of all formats (`plugins/sitemaps`, shared with actors), and how their
//! bytes are decoded.

pub use orbweaver_sitemaps::{Entry, NotSitemap, Sitemap, is_date, unpack, unpack_head};

use crate::charset;
use crate::content;
use crate::limits::MAX_SITEMAP_BYTES;

/// Parses a sitemap, after [unpacking](unpack). `url` is its own URL; relative entries are
/// resolved against it.
///
/// # Errors
/// When the body is not a sitemap.
pub fn parse(body: &[u8], url: &str) -> Result<Sitemap, NotSitemap> {
    let is_comment = body.trim_ascii_start().starts_with(b"<!--");
    if content::looks_like_html(body) && !is_comment {
        return Err(NotSitemap::Html);
    }
    let head = body.get(..MAX_SITEMAP_BYTES).unwrap_or(body);
    // A sitemap is UTF-8 unless it declares another encoding.
    let limits = charset::Limits {
        max_text_bytes: MAX_SITEMAP_BYTES,
    };
    let decoded = charset::decode(head, None, limits);
    let mut sitemap = orbweaver_sitemaps::parse_text(&decoded.text, url)?;
    sitemap.truncated |= head.len() < body.len() || decoded.truncated;
    Ok(sitemap)
}

/// Why a sitemap was read in part, for people; `None` if it was read to its end.
pub const fn cut(sitemap: &Sitemap) -> Option<&'static str> {
    match (sitemap.malformed, sitemap.truncated) {
        (true, _) => Some("not well-formed XML: read as far as possible"),
        (false, true) => Some("more than 50,000 entries or 50 MiB: read up to there"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests;
