//! Reading and comparing short texts.

use orbweaver_sdk::dom::tag;
use orbweaver_sdk::jsonld::decode_entities;
use orbweaver_sdk::text::{collapse, is_block};

/// Longest text that is compared, in bytes. What is longer is no title and no name.
pub const MAX_BYTES: usize = 1_000;

/// A short text of metadata for people: white space collapsed, and what was escaped once too
/// often decoded. Systems write text that is HTML already into JSON-LD, where nothing decodes it,
/// and into attributes.
pub fn plain(text: &str) -> String {
    if text.len() <= MAX_BYTES && text.contains('&') && text.contains(';') {
        return collapse(&decode_entities(text));
    }
    collapse(text)
}

/// A description for people: what was escaped once too often decoded, and without tags where a text
/// is clearly HTML. White space is collapsed.
pub fn readable(text: &str) -> String {
    /// A longer text is no description.
    const LONGEST: usize = 20_000;
    if text.len() > LONGEST {
        return collapse(text);
    }
    let text = if text.contains('&') && text.contains(';') {
        decode_entities(text)
    } else {
        text.to_owned()
    };
    if !has_markup(&text) {
        return collapse(&text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some((id, behind)) = markup_tag(from) {
            if id == tag::BR || is_block(id) {
                out.push(' ');
            }
            rest = behind;
        } else {
            out.push('<');
            rest = from.get(1..).unwrap_or("");
        }
    }
    out.push_str(rest);
    collapse(&out)
}

/// Whether a text has an end tag of HTML, or a line break: one that tells of tags names those that
/// begin elements.
fn has_markup(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| {
        let from = text.get(at..).unwrap_or("");
        markup_tag(from).is_some_and(|(id, _)| from.starts_with("</") || id == tag::BR)
    })
}

/// The element whose tag a text begins with, if it is one of text, and what follows the tag.
fn markup_tag(from: &str) -> Option<(u16, &str)> {
    /// Longest tag, in bytes.
    const LONGEST: usize = 500;
    let inner = from.strip_prefix('<')?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let length = inner.find(|c: char| !c.is_ascii_alphanumeric())?;
    let (name, tail) = inner.split_at(length);
    let id = tag::id(&name.to_ascii_lowercase());
    let is_inline = matches!(
        id,
        tag::A
            | tag::B
            | tag::BR
            | tag::EM
            | tag::FONT
            | tag::I
            | tag::IMG
            | tag::SMALL
            | tag::SPAN
            | tag::STRONG
            | tag::SUB
            | tag::SUP
            | tag::U
    );
    let end = tail.bytes().take(LONGEST).position(|byte| byte == b'>')?;
    (is_inline || is_block(id)).then_some((id, tail.get(end + 1..)?))
}

/// Where `part` first stands in a short text, in bytes. [`str::find`] prepares itself for long texts,
/// which costs more than reading a short one.
pub fn find(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let first = part.first()?;
    let begins = |at: &usize| text.get(*at..).is_some_and(|rest| rest.starts_with(part));
    let places = text.iter().enumerate();
    let mut places = places.filter_map(|(at, byte)| (byte == first).then_some(at));
    places.find(begins)
}

/// A text without differences that nobody sees: case, white space, forms of quotes and dashes.
pub fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            push_normal(c.to_ascii_lowercase(), &mut out);
        } else {
            c.to_lowercase().for_each(|c| push_normal(c, &mut out));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Appends a character in lower case.
fn push_normal(c: char, out: &mut String) {
    match c {
        '‘' | '’' | 'ʼ' | '`' | '´' => out.push('\''),
        '“' | '”' | '„' | '«' | '»' => out.push('"'),
        '‐'..='―' | '−' => out.push('-'),
        '…' => out.push_str("..."),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}' => {}
        c if c.is_whitespace() => {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        }
        c => out.push(c),
    }
}

/// Longest word of a class name that is told.
pub const CLASS_WORD_BYTES: usize = 24;

/// The words of a class name, an id and the like, as written: `postMeta-date` has `post`, `Meta`
/// and `date`. At most 16 of at most [`CLASS_WORD_BYTES`], of ASCII letters alone.
pub fn class_words(value: &str) -> impl Iterator<Item = &[u8]> {
    const MAX_WORDS: usize = 16;
    /// Bytes of a list of classes that are read.
    const MAX_LIST: usize = 400;
    let bytes = value.as_bytes();
    let mut rest = bytes.get(..MAX_LIST).unwrap_or(bytes);
    let words = std::iter::from_fn(move || {
        let start = rest.iter().position(u8::is_ascii_alphabetic)?;
        rest = rest.get(start..)?;
        let mut before = b'A';
        // Up to what is no letter, or to a capital after a small letter.
        let end = rest.iter().position(|&byte| {
            let border = !byte.is_ascii_alphabetic()
                || before.is_ascii_lowercase() && byte.is_ascii_uppercase();
            before = byte;
            border
        });
        let (word, tail) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = tail;
        Some(word)
    });
    words
        .filter(|word| (2..=CLASS_WORD_BYTES).contains(&word.len()))
        .take(MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_makes_no_difference() {
        let same = |a: &str, b: &str| normal(a) == normal(b);
        assert!(same("What’s  New — “today”…", "what's new - \"today\"... "));
        assert!(same("a\u{ad}b\u{a0}c", "ab c"));
        assert!(!same("ab", "a b"));
    }

    #[test]
    fn parts_are_found_where_they_first_stand() {
        for (text, part) in [
            ("Ann and Bo and Cy", " and "),
            ("a  and b", " and "),
            ("Ann｜Bo／Cy", "／"),
            ("Ann", "Anna"),
            ("Ann", "Ann"),
            ("", "a"),
            ("aab", "ab"),
        ] {
            assert_eq!(find(text, part), text.find(part), "{text}: {part}");
        }
    }

    #[test]
    fn what_was_escaped_twice_is_read_as_it_was_meant() {
        for (text, expected) in [
            ("Webs &amp; silk", "Webs & silk"),
            (
                "It&#8217;s\n silk&nbsp;&ndash; really&hellip;",
                "It’s silk – really…",
            ),
            ("Webs & silk; all of it", "Webs & silk; all of it"),
            ("R&D; A&B;", "R&D; A&B;"),
            ("&amp;amp;", "&amp;"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn descriptions_are_without_escapes_and_tags() {
        for (text, expected) in [
            ("Silk&hellip; and &amp; webs", "Silk… and & webs"),
            ("<p>Silk</p><p>and <b>webs</b></p>", "Silk and webs"),
            ("&lt;p class=\"a\"&gt;Silk&lt;/p&gt;", "Silk"),
            ("Silk<br/>webs", "Silk webs"),
            (
                "How to use the <b> and the <p> tag",
                "How to use the <b> and the <p> tag",
            ),
            ("a < b and </x> c", "a < b and </x> c"),
        ] {
            assert_eq!(readable(text), expected, "{text}");
        }
    }

    #[test]
    fn class_names_are_cut_into_words() {
        let words: Vec<&[u8]> = class_words("entry-date postMeta__time a2z XYZ é").collect();
        let expected: [&[u8]; 6] = [b"entry", b"date", b"post", b"Meta", b"time", b"XYZ"];
        assert_eq!(words, expected);
    }
}
