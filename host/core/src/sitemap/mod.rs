//! Sitemaps: the formats (`plugins/sitemaps`, which actors read too), and how their bytes
//! become text.

pub use orbweaver_sitemaps::{Entry, NotSitemap, Sitemap, is_date, unpack};

use crate::charset;
use crate::content;
use crate::limits::MAX_SITEMAP_BYTES;

/// Reads a sitemap, [unpacked](unpack). `url` is where it came from; relative entries are
/// resolved against it.
///
/// # Errors
/// The body is no sitemap at all.
pub fn parse(body: &[u8], url: &str) -> Result<Sitemap, NotSitemap> {
    let is_comment = body.trim_ascii_start().starts_with(b"<!--");
    if content::looks_like_html(body) && !is_comment {
        return Err(NotSitemap::Html);
    }
    let head = body.get(..MAX_SITEMAP_BYTES).unwrap_or(body);
    // A sitemap is UTF-8; one that declares otherwise is read as it declares.
    let limits = charset::Limits {
        max_text_bytes: MAX_SITEMAP_BYTES,
    };
    let decoded = charset::decode(head, None, limits);
    let mut sitemap = orbweaver_sitemaps::parse_text(&decoded.text, url)?;
    sitemap.truncated |= head.len() < body.len() || decoded.truncated;
    Ok(sitemap)
}

#[cfg(test)]
mod tests;
