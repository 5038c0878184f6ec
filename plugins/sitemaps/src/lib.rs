//! Parser of sitemaps for host and plugins: XML (URL sets and indexes), plain text, RSS and Atom,
//! as defined by sitemaps.org and accepted by search engines.

mod lastmod;
mod parse;

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

pub use lastmod::is_date;
pub use parse::parse_text;

/// Most bytes of an uncompressed sitemap that are parsed (sitemaps.org protocol).
pub const MAX_SITEMAP_BYTES: usize = 50 * 1024 * 1024;

/// Most URLs taken from one sitemap, or sitemaps from one index (sitemaps.org protocol).
pub const MAX_SITEMAP_URLS: usize = 50_000;

/// Most bytes of the URLs taken from one sitemap: short relative URLs become long with a long
/// base.
pub const MAX_SITEMAP_URLS_BYTES: usize = 32 * 1024 * 1024;

/// The content of a sitemap. Its URLs may have any host: the caller decides about scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Listed pages.
    pub pages: Vec<Entry>,
    /// Listed sitemaps. A sitemap may list itself or its parent, so the caller counts the depth.
    pub sitemaps: Vec<Entry>,
    /// Whether a limit of size or number cut it.
    pub truncated: bool,
    /// Whether the XML is cut off or not well-formed; entries before that are kept.
    pub malformed: bool,
}

/// One listed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Absolute URL, http or https.
    pub url: String,
    /// As written, if it is a date (W3C date-time, or a feed's format).
    pub lastmod: Option<String>,
}

/// Why a body is not a sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSitemap {
    /// An HTML page, usually "not found".
    Html,
    /// Another XML document, or a text without URLs.
    Other,
    /// gzip that cannot be decoded.
    Gzip,
}

impl fmt::Display for NotSitemap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Html => "an HTML page, not a sitemap",
            Self::Other => "neither a sitemap, a feed nor a list of URLs",
            Self::Gzip => "broken gzip",
        })
    }
}

impl std::error::Error for NotSitemap {}

/// A body as XML or text: a `.gz` is decoded, whatever type it was served with, up to the
/// limit; anything else is passed through.
///
/// # Errors
/// [`NotSitemap::Gzip`] where not a byte can be decoded.
pub fn unpack(body: &[u8]) -> Result<Cow<'_, [u8]>, NotSitemap> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(body));
    }
    let mut out = Vec::new();
    // One byte more than is read, so that the parser sees that it was cut.
    let limit = MAX_SITEMAP_BYTES as u64 + 1;
    let read = flate2::read::MultiGzDecoder::new(body)
        .take(limit)
        .read_to_end(&mut out);
    if read.is_err() && out.is_empty() {
        return Err(NotSitemap::Gzip);
    }
    Ok(Cow::Owned(out))
}
