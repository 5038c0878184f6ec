//! Links from page to page: "Prev", "Up", "Next" above and below the pages of a book, "Older posts".

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::measure::{BLOCK, Info, TITLED};

/// Weight of a link to the page before or behind this one.
const NEIGHBOUR: u8 = 2;

/// Weight of a link to where the reader came from.
const ABOVE: u8 = 1;

/// Weight from which a short box of links is for walking through pages: links in both
/// directions, or one of them and one upwards.
const PAGER: u8 = 3;

/// Longest box of that kind, in characters: the links, and the titles that they lead to.
const MAX_PAGER: u32 = 400;

/// Most of these characters that are no link.
const MAX_TITLES: u32 = 240;

/// Most links of such a box: pages of a list have numbers.
const MAX_LINKS: u32 = 16;

/// How much a link is for walking through pages: by `rel`, by the access keys of books
/// (DocBook, Texinfo, latex2html), or by its text.
pub fn weight(link: Node<'_>) -> u8 {
    let rel = link.attr(attr::REL).map_or(0, |rel| {
        let words = rel.split_ascii_whitespace();
        words.map(by_name).max().unwrap_or(0)
    });
    if rel > 0 {
        return rel;
    }
    let key = link.attr(attr::ACCESSKEY).unwrap_or_default();
    let label = link.text_runs().find(|text| !text.trim().is_empty());
    let text = label.unwrap_or_default().trim();
    if text.len() > MAX_TEXT {
        return 0;
    }
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    match key {
        "p" | "n" if !text.is_empty() => return NEIGHBOUR,
        "u" | "h" if !text.is_empty() => return ABOVE,
        _ => {}
    }
    by_name(text)
}

/// Longest text of such a link, in bytes.
const MAX_TEXT: usize = 32;

fn by_name(name: &str) -> u8 {
    let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is(&NEIGHBOURS) {
        NEIGHBOUR
    } else if is(&PLACES) {
        ABOVE
    } else {
        0
    }
}

const NEIGHBOURS: [&str; 18] = [
    "prev",
    "previous",
    "next",
    "previous page",
    "next page",
    "prev page",
    "previous chapter",
    "next chapter",
    "previous section",
    "next section",
    "previous post",
    "next post",
    "previous article",
    "next article",
    "older",
    "newer",
    "older posts",
    "newer posts",
];

const PLACES: [&str; 6] = [
    "up",
    "home",
    "top",
    "index",
    "contents",
    "table of contents",
];

/// Whether a box with these figures, all of its subtree, is there to walk through pages.
pub fn is_pager(me: &Info) -> bool {
    me.steps >= PAGER
        && me.state & (BLOCK | TITLED) == BLOCK
        && !matches!(me.tag, tag::BODY | tag::HTML | tag::MAIN | tag::ARTICLE)
        && me.chars <= MAX_PAGER
        && me.chars - me.link.min(me.chars) <= MAX_TITLES
        && me.links <= MAX_LINKS
        && me.prose * 4 <= me.chars
}
