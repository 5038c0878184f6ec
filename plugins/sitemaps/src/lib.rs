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

/// Bytes that a `.gz` may have besides its content, such as names and comments.
const MAX_GZIP_EXTRA: usize = 16 * 1024;

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
    // One byte more than is read, so that the parser sees that it was cut.
    unpack_head(body, MAX_SITEMAP_BYTES + 1)
}

/// The first bytes of a body as XML or text: of a `.gz` no more is decoded, and not much more is read.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_head(body: &[u8], max_bytes: usize) -> Result<Cow<'_, [u8]>, NotSitemap> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(body.get(..max_bytes).unwrap_or(body)));
    }
    // A file may have any number of parts without content, each of which is work.
    let most = max_bytes.saturating_add(MAX_GZIP_EXTRA);
    let body = body.get(..most).unwrap_or(body);
    let mut out = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(body)
        .take(max_bytes as u64)
        .read_to_end(&mut out);
    if read.is_err() && out.is_empty() {
        return Err(NotSitemap::Gzip);
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(content).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn the_head_of_a_bomb_is_no_more_than_asked_for() {
        let bomb = packed(&vec![b' '; 8 << 20]);
        let head = unpack_head(&bomb, 1_024).unwrap();
        assert_eq!(head.len(), 1_024);
        let Cow::Owned(head) = head else {
            panic!("nothing was decoded")
        };
        assert!(head.capacity() < 16 << 10, "{}", head.capacity());
        assert_eq!(unpack(&bomb).unwrap().len(), 8 << 20);
    }

    #[test]
    fn the_head_of_a_file_of_empty_parts_costs_no_more_than_its_beginning() {
        let empty = packed(b"");
        let mut parts = empty.repeat(MAX_GZIP_EXTRA / empty.len() + 100);
        parts.extend(packed(b"<urlset>"));
        assert!(unpack_head(&parts, 1_024).map_or(true, |head| head.is_empty()));
        let mut parts = empty.repeat(3);
        parts.extend(packed(b"<urlset>"));
        assert_eq!(unpack_head(&parts, 1_024).unwrap().as_ref(), b"<urlset>");
    }

    #[test]
    fn what_is_not_packed_is_cut() {
        assert_eq!(unpack_head(b"<urlset>", 4).unwrap().as_ref(), b"<url");
        assert_eq!(unpack_head(b"<urlset>", 40).unwrap().as_ref(), b"<urlset>");
        assert!(unpack_head(&[0x1f, 0x8b, 0], 40).is_err());
    }
}
