//! Documents that a plugin converts to HTML, recognised by their first bytes.

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

/// Whether a text is a feed: RSS, Atom or JSON Feed.
pub(super) fn is_feed(bytes: &[u8]) -> bool {
    let head = strip_bom(bytes.get(..HEAD).unwrap_or(bytes)).trim_ascii_start();
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
