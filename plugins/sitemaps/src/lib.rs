//! Sitemaps as host and plugins read them: XML (URL sets and indexes), plain text, RSS and Atom, as sitemaps.org and
//! search engines read them.

mod lastmod;
mod parse;

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

pub use lastmod::is_date;
pub use parse::parse_text;

/// Bytes of an uncompressed sitemap that are read (sitemaps.org protocol).
pub const MAX_SITEMAP_BYTES: usize = 50 * 1024 * 1024;

/// URLs taken from one sitemap, or sitemaps from one index (sitemaps.org protocol).
pub const MAX_SITEMAP_URLS: usize = 50_000;

/// Bytes of the URLs taken from one sitemap: short relative ones become long against a long
/// base.
pub const MAX_SITEMAP_URLS_BYTES: usize = 32 * 1024 * 1024;

/// What a sitemap lists. Its URLs may be of any host: what is in scope is the caller's
/// to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages.
    pub pages: Vec<Entry>,
    /// Further sitemaps. One may name itself or its parent: the caller counts depth.
    pub sitemaps: Vec<Entry>,
    /// A limit of size or number cut it.
    pub truncated: bool,
    /// The XML broke off or is not well formed; what came before is kept.
    pub malformed: bool,
}

/// One listed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Absolute; http or https.
    pub url: String,
    /// As written, where it is a date (W3C date-time, or a feed's).
    pub lastmod: Option<String>,
}

/// Why a body is no sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSitemap {
    /// A page, mostly one that says "not found".
    Html,
    /// Another XML document, or text without a URL in it.
    Other,
    /// gzip that can't be decoded.
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
