//! Documents that a plugin converts to HTML, recognised by their first bytes.

use std::borrow::Cow;

use encoding_rs::Encoding;
use orbweaver_markup::xml_root;

use super::kind::strip_bom;

/// Bytes of a text that are examined for the root of a feed.
const HEAD: usize = 4 << 10;

/// Media types of text documents in archives.
const ARCHIVES: [&str; 4] = [
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
    "application/vnd.ms-word.document.macroenabled.12",
    "application/vnd.oasis.opendocument.text",
];

/// Whether the body is a PDF, or an archive that may be a DOCX or an ODT. `declared`: its media
/// type according to its header.
pub(super) fn is_binary(bytes: &[u8], declared: Option<&str>) -> bool {
    if bytes.starts_with(b"%PDF-") {
        return true;
    }
    let Some(header) = bytes.strip_prefix(b"PK\x03\x04") else {
        return false;
    };
    if declared.is_some_and(|declared| ARCHIVES.contains(&declared)) {
        return true;
    }
    // The name of the archive's first file (APPNOTE.TXT, 4.3.7).
    let length = header.get(22..24).map_or(0, |bytes| match bytes {
        [low, high] => usize::from(u16::from_le_bytes([*low, *high])),
        _ => 0,
    });
    let Some((name, rest)) = header
        .get(26..)
        .and_then(|rest| rest.split_at_checked(length))
    else {
        return false;
    };
    if name == b"mimetype" {
        return rest.starts_with(b"application/vnd.oasis.opendocument.text");
    }
    name == b"[Content_Types].xml"
        || [b"_rels/".as_slice(), b"docProps/", b"word/", b"customXml/"]
            .iter()
            .any(|folder| name.starts_with(folder))
}

/// The beginning of a text, in UTF-8 if its byte order mark tells that it is in UTF-16.
fn head(bytes: &[u8]) -> Cow<'_, [u8]> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    match Encoding::for_bom(head) {
        Some((encoding, mark)) if encoding != encoding_rs::UTF_8 => {
            let text = encoding.decode_without_bom_handling(head.get(mark..).unwrap_or_default());
            Cow::Owned(text.0.into_owned().into_bytes())
        }
        _ => Cow::Borrowed(strip_bom(head)),
    }
}

/// Whether XML is a page: its root is that of XHTML.
pub(super) fn is_xhtml(bytes: &[u8]) -> bool {
    let head = head(bytes);
    xml_root(&head) == Some(b"html") && has(&head, b"http://www.w3.org/1999/xhtml")
}

/// Whether a text is a feed: RSS, Atom or JSON Feed.
pub(super) fn is_feed(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let head = head.trim_ascii_start();
    if head.starts_with(b"{") {
        return has(head, b"jsonfeed.org/version/") || has(head, b"jsonfeed.org\\/version\\/");
    }
    let Some(root) = xml_root(head) else {
        return false;
    };
    match root {
        b"rss" => true,
        b"feed" | b"atom:feed" => {
            has(head, b"http://www.w3.org/2005/Atom") || has(head, b"purl.org/atom")
        }
        b"rdf:RDF" => has(head, b"purl.org/rss/") || has(head, b"my.netscape.com/rdf/"),
        _ => false,
    }
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|bytes| bytes == part)
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, sniff};

    fn kind(content_type: &str, bytes: &[u8]) -> Kind {
        sniff((!content_type.is_empty()).then_some(content_type), bytes).kind
    }

    #[test]
    fn feeds_are_documents_whatever_their_type() {
        for feed in [
            "<rss version='2.0'><channel/></rss>",
            "\u{feff}<?xml version='1.0'?>\n<?xml-stylesheet href='x'?><!-- <html> --><rss>",
            "<!DOCTYPE rss [<!ENTITY n '&#160;'>]><rss version='0.91'><channel/></rss>",
            "<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'/>",
            "<rdf:RDF xmlns='http://purl.org/rss/1.0/'>",
            r#"{"version": "https://jsonfeed.org/version/1.1", "items": []}"#,
        ] {
            for header in [
                "",
                "text/xml",
                "application/rss+xml",
                "text/plain",
                "text/html",
            ] {
                assert_eq!(
                    kind(header, feed.as_bytes()),
                    Kind::Document,
                    "{header}: {feed}"
                );
            }
        }
    }

    #[test]
    fn feeds_in_utf_16_are_documents() {
        let feed = "<?xml version='1.0' encoding='UTF-16'?><rss version='2.0'><channel/></rss>";
        let little = feed.encode_utf16().flat_map(u16::to_le_bytes);
        let big = feed.encode_utf16().flat_map(u16::to_be_bytes);
        let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(little).collect();
        let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(big).collect();
        for header in ["", "text/xml", "application/rss+xml"] {
            assert_eq!(kind(header, &little), Kind::Document, "{header}");
            assert_eq!(kind(header, &big), Kind::Document, "{header}");
        }
    }

    #[test]
    fn other_xml_and_json_is_text() {
        for text in [
            "<?xml version='1.0'?><urlset/>",
            "<feed><price/></feed>",
            "<rdf:RDF xmlns:foaf='x'/>",
            "<!-- <rss> --><svg/>",
            "<?xml version='1.0'",
            "<rss",
            "{\"version\": 1}",
        ] {
            assert_eq!(kind("text/xml", text.as_bytes()), Kind::Text, "{text}");
        }
    }

    fn archive(name: &str, content: &str) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend([0; 22]);
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(name.bytes().chain(content.bytes()));
        bytes
    }

    #[test]
    fn text_documents_in_archives_are_told_from_other_archives() {
        let odt = "application/vnd.oasis.opendocument.textPK";
        for bytes in [
            archive("[Content_Types].xml", ""),
            archive("word/document.xml", ""),
            archive("mimetype", odt),
        ] {
            assert_eq!(kind("application/octet-stream", &bytes), Kind::Document);
        }
        for bytes in [
            archive("mimetype", "application/epub+zip"),
            archive("readme.txt", odt),
            b"PK\x03\x04\x14\0".to_vec(),
        ] {
            assert_eq!(kind("application/zip", &bytes), Kind::Other);
        }
        assert_eq!(
            kind(super::ARCHIVES[0], &archive("a.xml", "")),
            Kind::Document
        );
    }
}
