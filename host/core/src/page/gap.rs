//! The markup between two texts, read from the source.
//!
//! Every tag's start is looked at, and no more: an attribute's value that holds `<p>`
//! counts as a paragraph, which costs a space in a hash and nothing else.

/// What a stretch of markup does to the text around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// A block begins or ends, or a line is broken.
    pub breaks: bool,
    /// Where an `</a>` begins, the first one.
    pub closes_link: Option<usize>,
}

/// Reads the markup of `gap`; `closes_link` counts from its start.
pub(super) fn read(gap: &[u8]) -> Gap {
    let mut found = Gap::default();
    let mut at = 0;
    while let Some(next) = gap
        .get(at..)
        .and_then(|rest| rest.iter().position(|&b| b == b'<'))
    {
        at += next + 1;
        let rest = gap.get(at..).unwrap_or_default();
        if rest.starts_with(b"!--") {
            // Past the comment; one that does not end ends the gap.
            match rest.windows(3).position(|w| w == b"-->") {
                Some(end) => at += end + 3,
                None => break,
            }
            continue;
        }
        let closing = rest.first() == Some(&b'/');
        let name = rest.get(usize::from(closing)..).unwrap_or_default();
        let (packed, len) = pack(name);
        if len == 1 && packed == u64::from(b'a') {
            if closing && found.closes_link.is_none() {
                found.closes_link = Some(at - 1);
            }
        } else if !found.breaks {
            found.breaks = is_block(packed, len, name);
        }
        at += usize::from(closing) + len;
    }
    found
}

/// A tag's name in lower case, its first eight bytes in one number.
fn pack(name: &[u8]) -> (u64, usize) {
    let mut packed = 0;
    let mut len = 0;
    for &byte in name
        .iter()
        .take(16)
        .take_while(|b| b.is_ascii_alphanumeric())
    {
        if len < 8 {
            packed = packed << 8 | u64::from(byte.to_ascii_lowercase());
        }
        len += 1;
    }
    (packed, len)
}

const fn word(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut packed = 0;
    let mut at = 0;
    while at < bytes.len() {
        packed = packed << 8 | bytes[at] as u64;
        at += 1;
    }
    packed
}

/// Names of blocks of up to eight letters: `display: block` and its like in the HTML
/// standard's style sheet, and what breaks a line.
const BLOCKS: [u64; 44] = [
    word("address"),
    word("article"),
    word("aside"),
    word("body"),
    word("br"),
    word("caption"),
    word("center"),
    word("dd"),
    word("details"),
    word("dialog"),
    word("dir"),
    word("div"),
    word("dl"),
    word("dt"),
    word("fieldset"),
    word("figure"),
    word("footer"),
    word("form"),
    word("h1"),
    word("h2"),
    word("h3"),
    word("h4"),
    word("h5"),
    word("h6"),
    word("header"),
    word("hgroup"),
    word("hr"),
    word("legend"),
    word("li"),
    word("main"),
    word("menu"),
    word("nav"),
    word("ol"),
    word("option"),
    word("p"),
    word("pre"),
    word("section"),
    word("summary"),
    word("table"),
    word("td"),
    word("th"),
    word("tr"),
    word("ul"),
    word("title"),
];

fn is_block(packed: u64, len: usize, name: &[u8]) -> bool {
    if len <= 8 {
        return BLOCKS.contains(&packed);
    }
    let is = |known: &str| {
        name.get(..known.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(known.as_bytes()))
            && len == known.len()
    };
    is("blockquote") || is("figcaption")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_break_and_inline_elements_do_not() {
        for (gap, breaks) in [
            ("</p><p>", true),
            ("<BR/>", true),
            ("</FigCaption>", true),
            ("<b><i class='x'></i>", false),
            ("<!-- <p> -->", false),
            ("<!-- <p> --><td>", true),
            ("<pp><divx><h7>", false),
            ("", false),
            ("<", false),
            ("</", false),
            ("<!-- <p>", false),
        ] {
            assert_eq!(read(gap.as_bytes()).breaks, breaks, "{gap}");
        }
    }

    #[test]
    fn the_end_of_a_link_is_found() {
        assert_eq!(read(b"</b></A ><p>").closes_link, Some(4));
        assert_eq!(read(b"<a href></abbr><!-- </a> -->").closes_link, None);
    }
}
