//! The kind of a body: HTML, text, or neither.
//!
//! The rule follows the MIME Sniffing standard, adapted to a crawler:
//! 1. A body that begins with the signature of a binary format is that format, whatever
//!    Content-Type says: a PDF served as `text/html` has no HTML in it.
//! 2. `text/html` and `application/xhtml+xml` are HTML; so is XML whose root is that of XHTML.
//! 3. No type, a malformed one, `application/octet-stream` and `unknown/unknown` are
//!    sniffed: HTML if the first tag is one that begins pages, else text if there is no
//!    binary byte in the first 1,445 bytes.
//! 4. `text/*`, JSON, XML, JavaScript and their kin are text; the rest is neither.
//! 5. PDF, DOCX, ODT and feeds are documents, by their first bytes: a plugin makes HTML of them.

use super::document;
use super::mime;

/// Kinds of body, by how they are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Parsed, and its links followed.
    Html,
    /// Decoded and returned unchanged.
    Text,
    /// Converted to HTML by a plugin: PDF, DOCX, ODT and feeds.
    Document,
    /// Neither: images, documents, archives.
    Other,
}

/// A body's kind and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// How it is processed.
    pub kind: Kind,
    /// Its media type, such as `application/pdf`: by signature, else declared, else sniffed.
    pub media_type: String,
}

impl Sniffed {
    fn new(kind: Kind, media_type: impl Into<String>) -> Self {
        Self {
            kind,
            media_type: media_type.into(),
        }
    }
}

/// Signatures of binary formats.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"BZh", "application/x-bzip2"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x00\x01\x00\x00\x00", "font/ttf"),
    (b"OTTO\x00", "font/otf"),
    (b"\x00asm", "application/wasm"),
    (b"\x7fELF", "application/x-elf"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "application/x-ole-storage",
    ),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
];

/// Tags that identify HTML in a body without a type: those of the MIME Sniffing standard.
const HTML_TAGS: &[&str] = &[
    "!doctype html",
    "html",
    "head",
    "script",
    "iframe",
    "h1",
    "div",
    "font",
    "table",
    "a",
    "style",
    "title",
    "b",
    "body",
    "br",
    "p",
    "meta",
    "link",
];

/// Bytes examined: the standard's resource header.
const HEADER_BYTES: usize = 1445;

/// Classifies a decoded body by its Content-Type and its first bytes.
pub fn sniff(content_type: Option<&str>, bytes: &[u8]) -> Sniffed {
    let declared = content_type.and_then(mime::essence);
    if let Some(media_type) = signature(bytes) {
        let kind = match document::is_binary(bytes, declared.as_deref()) {
            true => Kind::Document,
            false => Kind::Other,
        };
        return Sniffed::new(kind, media_type);
    }
    let sniffed = sniff_text(declared, bytes);
    // Many feeds are sent as HTML.
    let may_be_feed = sniffed.kind == Kind::Text || sniffed.media_type == "text/html";
    if may_be_feed && document::is_feed(bytes) {
        return Sniffed::new(Kind::Document, sniffed.media_type);
    }
    sniffed
}

/// Classifies a body that does not begin with the signature of a binary format.
fn sniff_text(declared: Option<String>, bytes: &[u8]) -> Sniffed {
    match declared {
        None => sniff_unknown(bytes),
        Some(essence) => match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Sniffed::new(Kind::Html, essence),
            "text/xml" | "application/xml" if document::is_xhtml(bytes) => {
                Sniffed::new(Kind::Html, essence)
            }
            "application/octet-stream"
            | "binary/octet-stream"
            | "unknown/unknown"
            | "application/unknown"
            | "*/*" => sniff_unknown(bytes),
            other if is_text_type(other) => Sniffed::new(Kind::Text, essence),
            _ => Sniffed::new(Kind::Other, essence),
        },
    }
}

fn signature(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, media_type)) = SIGNATURES
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
    {
        return Some(media_type);
    }
    let at = |from: usize, magic: &[u8]| {
        bytes
            .get(from..)
            .is_some_and(|tail| tail.starts_with(magic))
    };
    if at(0, b"RIFF") {
        return [
            (b"WEBP", "image/webp"),
            (b"WAVE", "audio/wav"),
            (b"AVI ", "video/x-msvideo"),
        ]
        .into_iter()
        .find_map(|(form, media_type)| at(8, form).then_some(media_type));
    }
    if at(4, b"ftyp") {
        return Some(if at(8, b"avif") {
            "image/avif"
        } else {
            "video/mp4"
        });
    }
    at(257, b"ustar").then_some("application/x-tar")
}

fn sniff_unknown(bytes: &[u8]) -> Sniffed {
    let head = bytes.get(..HEADER_BYTES).unwrap_or(bytes);
    if looks_like_html(head) {
        return Sniffed::new(Kind::Html, "text/html");
    }
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if !utf16 && head.iter().any(|&b| is_binary(b)) {
        return Sniffed::new(Kind::Other, "application/octet-stream");
    }
    let xml = strip_bom(head).trim_ascii_start().starts_with(b"<?xml");
    Sniffed::new(Kind::Text, if xml { "text/xml" } else { "text/plain" })
}

pub(super) fn strip_bom(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

/// Whether a body starts like an HTML page, whatever its type.
pub fn looks_like_html(head: &[u8]) -> bool {
    let mut rest = strip_bom(head).trim_ascii_start();
    // An XHTML page starts with its XML declaration.
    if rest.starts_with(b"<?xml") {
        let end = rest
            .iter()
            .position(|&b| b == b'>')
            .map_or(rest.len(), |at| at + 1);
        rest = rest.get(end..).unwrap_or_default().trim_ascii_start();
        return starts_with_tag(rest, "!doctype html") || starts_with_tag(rest, "html");
    }
    rest.starts_with(b"<!--") || HTML_TAGS.iter().any(|tag| starts_with_tag(rest, tag))
}

/// What follows the comments of HTML that text begins with: some servers put one before every answer.
/// A comment without an end has nothing after it.
pub fn after_comments(text: &[u8]) -> &[u8] {
    let mut rest = strip_bom(text).trim_ascii_start();
    while let Some(comment) = rest.strip_prefix(b"<!--") {
        let end = memchr::memmem::find(comment, b"-->").map_or(comment.len(), |at| at + 3);
        rest = comment.get(end..).unwrap_or_default().trim_ascii_start();
    }
    rest
}

/// Whether `bytes` begin with `<tag` and a byte that ends the tag's name.
fn starts_with_tag(bytes: &[u8], tag: &str) -> bool {
    let Some(rest) = bytes.strip_prefix(b"<") else {
        return false;
    };
    let Some((name, after)) = rest.split_at_checked(tag.len()) else {
        return false;
    };
    name.eq_ignore_ascii_case(tag.as_bytes())
        && after
            .first()
            .is_some_and(|&b| b.is_ascii_whitespace() || b == b'>' || b == b'/')
}

/// The standard's "binary data byte".
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Whether a media type is one of text.
pub fn is_text_type(essence: &str) -> bool {
    const TEXT: &[&str] = &[
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "application/ndjson",
        "application/x-ndjson",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/graphql",
        "application/sql",
        "application/rtf",
        "application/x-sh",
        "application/x-httpd-php",
        "application/x-www-form-urlencoded",
        "image/svg+xml",
    ];
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || TEXT.contains(&essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(content_type: &str, bytes: &[u8]) -> (Kind, String) {
        let sniffed = sniff((!content_type.is_empty()).then_some(content_type), bytes);
        (sniffed.kind, sniffed.media_type)
    }

    #[test]
    fn comments_at_the_beginning_are_passed_over() {
        for (text, after) in [
            ("User-agent: *", "User-agent: *"),
            ("\u{feff} <!-- a --> <!--b-->\nDisallow: /", "Disallow: /"),
            ("<!-- a --><html>", "<html>"),
            ("<!-- a", ""),
            ("<!-->x", ""),
        ] {
            assert_eq!(after_comments(text.as_bytes()), after.as_bytes(), "{text}");
        }
    }

    /// Fault 32.
    #[test]
    fn a_binary_format_is_recognised_despite_the_header() {
        for (bytes, media_type) in [
            (b"%PDF-1.7\n<html>".as_slice(), "application/pdf"),
            (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
            (b"PK\x03\x04\x14\0", "application/zip"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            (b"\0\0\0\x20ftypisom", "video/mp4"),
        ] {
            for header in [
                "text/html; charset=utf-8",
                "text/plain",
                "",
                "application/octet-stream",
            ] {
                let expected = match media_type {
                    "application/pdf" => Kind::Document,
                    _ => Kind::Other,
                };
                assert_eq!(
                    kind(header, bytes),
                    (expected, media_type.to_owned()),
                    "{header}"
                );
            }
        }
        assert_eq!(kind("image/jpeg", b""), (Kind::Other, "image/jpeg".into()));
    }

    /// Fault 31.
    #[test]
    fn a_body_without_a_useful_type_is_sniffed() {
        for header in [
            "",
            "application/octet-stream",
            "unknown/unknown",
            "html",
            ";charset=utf-8",
        ] {
            for html in [
                "<!DOCTYPE html><p>x",
                "\u{feff} \n<HTML>",
                "<p>x",
                "<!-- x --><p>",
                "<?xml version='1.0'?>\n<html>",
            ] {
                assert_eq!(
                    kind(header, html.as_bytes()).0,
                    Kind::Html,
                    "{header}: {html}"
                );
            }
            for text in ["hello", "{\"a\": 1}", "<abc>", "", "caf\u{e9}"] {
                assert_eq!(
                    kind(header, text.as_bytes()),
                    (Kind::Text, "text/plain".into()),
                    "{header}: {text}"
                );
            }
            assert_eq!(
                kind(header, b"<?xml version='1.0'?><rss>"),
                (Kind::Document, "text/xml".into())
            );
            assert_eq!(kind(header, b"ab\x01\x02").0, Kind::Other, "{header}");
        }
    }

    #[test]
    fn declared_types_are_used() {
        assert_eq!(kind("text/html", b"{}").0, Kind::Html);
        assert_eq!(kind("text/html", b"\0\0<p>").0, Kind::Html);
        assert_eq!(kind("application/xhtml+xml", b"<html/>").0, Kind::Html);
        let xhtml = b"\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE html><html lang='en' \
                      xmlns='http://www.w3.org/1999/xhtml'>";
        assert_eq!(kind("text/xml", xhtml).0, Kind::Html);
        assert_eq!(kind("application/xml; charset=utf-8", xhtml).0, Kind::Html);
        assert_eq!(kind("text/plain", xhtml).0, Kind::Text);
        assert_eq!(kind("text/xml", b"<html/>").0, Kind::Text);
        assert_eq!(kind("text/plain", b"<html>").0, Kind::Text);
        assert_eq!(kind("application/ld+json", b"{}").0, Kind::Text);
        assert_eq!(kind("application/rss+xml", b"<rss/>").0, Kind::Document);
        assert_eq!(kind("application/vnd.ms-excel", b"x").0, Kind::Other);
    }
}
