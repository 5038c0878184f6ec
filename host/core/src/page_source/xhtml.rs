//! XHTML as HTML: the same document, for a reader of HTML.

use std::borrow::Cow;

use memchr::{memchr, memchr3, memmem};

/// Elements that have no end tag in HTML (HTML standard, section 13.1.2).
const VOID: [&str; 16] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "frame", "keygen",
];
/// Elements whose content HTML does not read as markup: up to their end tag.
const RAW: [&str; 2] = ["script", "style"];

/// Gives each element without content (XML 1.0, section 3.1, `EmptyElemTag`) an end tag. Work and size are
/// linear: the text grows to at most twice its length.
pub(super) fn as_html(text: Cow<'_, str>) -> Cow<'_, str> {
    if memmem::find(text.as_bytes(), b"/>").is_none() {
        return text;
    }
    let mut html = String::new();
    // Up to where the text is in `html`.
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = tag(&text, at) {
        at = found.end;
        if found.is_empty && !is_one_of(found.name, &VOID) {
            html.push_str(text.get(copied..found.slash).unwrap_or(""));
            html.push_str("></");
            html.push_str(found.name);
            html.push('>');
            copied = found.end;
        } else if !found.is_empty && is_one_of(found.name, &RAW) {
            at = end_of_raw(&text, found.end, found.name);
        }
    }
    if copied == 0 {
        return text;
    }
    html.push_str(text.get(copied..).unwrap_or(""));
    Cow::Owned(html)
}

/// A start tag.
struct Tag<'t> {
    name: &'t str,
    is_empty: bool,
    /// Where its last slash is, if it is empty.
    slash: usize,
    end: usize,
}

/// The next start tag from a place on.
fn tag(text: &str, from: usize) -> Option<Tag<'_>> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let start = at + memchr(b'<', bytes.get(at..)?)?;
        let rest = bytes.get(start..)?;
        let skip = if rest.starts_with(b"<!--") {
            memmem::find(rest, b"-->")? + 3
        } else if rest.starts_with(b"<![CDATA[") {
            memmem::find(rest, b"]]>")? + 3
        } else if rest.starts_with(b"<?") {
            memmem::find(rest, b"?>")? + 2
        } else if !rest.get(1).is_some_and(u8::is_ascii_alphabetic) {
            // An end tag, a declaration or text.
            1
        } else {
            return whole_tag(text, start);
        };
        at = start + skip;
    }
}

/// The start tag at a place.
fn whole_tag(text: &str, start: usize) -> Option<Tag<'_>> {
    let bytes = text.as_bytes();
    let is_of_name = |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>');
    let length = bytes
        .get(start + 1..)?
        .iter()
        .take_while(|b| is_of_name(b))
        .count();
    let name_end = start + 1 + length;
    let mut at = name_end;
    loop {
        let found = at + memchr3(b'>', b'"', b'\'', bytes.get(at..)?)?;
        let quote = *bytes.get(found)?;
        if quote == b'>' {
            let slash = found - 1;
            return Some(Tag {
                name: text.get(start + 1..name_end)?,
                is_empty: slash >= name_end && bytes.get(slash) == Some(&b'/'),
                slash,
                end: found + 1,
            });
        }
        at = found + 1 + memchr(quote, bytes.get(found + 1..)?)? + 1;
    }
}

/// Where the content of a raw element ends; the end of the text if it has no end tag.
fn end_of_raw(text: &str, from: usize, name: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memmem::find(rest, b"</")) {
        let behind = at + found + 2;
        let is_end = text
            .get(behind..behind + name.len())
            .is_some_and(|end| end.eq_ignore_ascii_case(name));
        if is_end {
            return behind;
        }
        at = behind;
    }
    text.len()
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_without_content_get_an_end_tag() {
        for (given, expected) in [
            (
                "<head><script src=\"a.js\"/><title/></head><p>b</p>",
                "<head><script src=\"a.js\"></script><title></title></head><p>b</p>",
            ),
            ("<a id='x' />b", "<a id='x' ></a>b"),
            ("<br/><img src=\"a>b/>\"/>", "<br/><img src=\"a>b/>\"/>"),
            ("<div title=\"a/>b\">c</div>", "<div title=\"a/>b\">c</div>"),
            ("<svg:rect/><Div/>", "<svg:rect></svg:rect><Div></Div>"),
            // What is no tag.
            ("<!-- <p/> --><i/>", "<!-- <p/> --><i></i>"),
            ("<![CDATA[<p/>]]><i/>", "<![CDATA[<p/>]]><i></i>"),
            ("<?xml a='<p/>'?><i/>", "<?xml a='<p/>'?><i></i>"),
            (
                "<script>a = '<p/>' </b> </script><i/>",
                "<script>a = '<p/>' </b> </script><i></i>",
            ),
            ("1 < 2 <i/>", "1 < 2 <i></i>"),
            // What does not end.
            ("<i/><p a=\"/>", "<i></i><p a=\"/>"),
            ("<i/><!-- <p/>", "<i></i><!-- <p/>"),
            ("<i/><script><p/>", "<i></i><script><p/>"),
            ("<i/><", "<i></i><"),
            ("<é/><i/>", "<é/><i></i>"),
        ] {
            assert_eq!(as_html(Cow::Borrowed(given)), expected, "{given}");
        }
        let same = as_html(Cow::Borrowed("<p>a</p><br/>"));
        assert!(matches!(same, Cow::Borrowed(_)));
    }
}
