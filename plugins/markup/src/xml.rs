//! Properties of an XML document that are known before it is parsed.

/// The name of the root element as it is written, if declarations, comments and instructions are all
/// that is before it. They may have what looks like elements.
pub fn xml_root(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.trim_ascii_start();
    loop {
        let tag = rest.strip_prefix(b"<")?;
        let end: &[u8] = match tag {
            [b'?', ..] => b"?>",
            [b'!', b'-', b'-', ..] => b"-->",
            // A DTD has declarations of its own in brackets.
            [b'!', ..] => match tag.iter().find(|&b| matches!(b, b'[' | b'>'))? {
                b'[' => b"]>",
                _ => b">",
            },
            _ => {
                let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'>' | b'/');
                return tag.get(..tag.iter().position(is_end)?);
            }
        };
        let at = tag.windows(end.len()).position(|bytes| bytes == end)?;
        rest = tag.get(at + end.len()..)?.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::xml_root;

    #[test]
    fn the_root_is_behind_declarations_comments_and_instructions() {
        for (text, root) in [
            ("<rss version='2.0'>", Some("rss")),
            ("<rdf:RDF\n xmlns='x'>", Some("rdf:RDF")),
            (
                " <?xml version='1.0'?><!-- by <html> --><feed/>",
                Some("feed"),
            ),
            ("<?xml-stylesheet href='<a>'?>\n<rss>", Some("rss")),
            ("<!DOCTYPE rss PUBLIC 'a' 'b'><rss>", Some("rss")),
            ("<!DOCTYPE rss [<!ENTITY n \"<b>\"> ]>\n<rss>", Some("rss")),
            ("<html><p>", Some("html")),
            ("text <rss>", None),
            ("<!-- <rss>", None),
            ("<rss", None),
            ("", None),
        ] {
            let found = xml_root(text.as_bytes());
            assert_eq!(found, root.map(str::as_bytes), "{text}");
        }
    }
}
