//! From HTML to a snapshot: a tokenizer, a tree builder over an arena, then one pass in document
//! order.

mod arena;
mod builder;
mod emit;
mod names;
mod need;
mod nesting;
mod token;
mod tokenizer;

use std::borrow::Cow;

use crate::Snapshot;
pub use need::ParseNeed;

/// Most bytes of a page that are read: offsets are 32 bits, and text can grow fourfold.
const MAX_HTML: usize = 1 << 28;

/// Where a tree is cut. A snapshot that was cut says so: see [`View::truncated`](crate::View::truncated).
///
/// Beyond these, and beyond what pages are made of, an element keeps its first 512 attributes,
/// a page its first 256 MiB, and attributes that unclosed formatting elements repeat are
/// repeated up to four times the page's size. Where more than 512 elements are open at once, or more
/// than 64 for hundreds of thousands of tags, the tree is built by simpler rules than the standard's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most nodes of a snapshot; later ones in document order are left out.
    pub max_nodes: u32,
    /// Most attributes of all nodes; later ones are left out.
    pub max_attrs: u32,
    /// Most bytes of all strings; later ones are left out.
    pub max_text: u32,
    /// Most elements above one another, `<html>` being the first. A deeper element becomes a
    /// child of the deepest allowed one's parent, so that no text is lost.
    pub max_depth: u32,
}

impl Default for Limits {
    /// Two million nodes, eight million attributes; 512 levels, as browsers have it.
    fn default() -> Self {
        Self {
            max_nodes: 2_000_000,
            max_attrs: 8_000_000,
            max_text: u32::MAX,
            max_depth: 512,
        }
    }
}

/// Parses a document with the default [`Limits`]. Never fails: every string is some document.
///
/// As in a browser that runs scripts, the contents of `<noscript>` are one text.
pub fn parse(html: &str) -> Snapshot {
    parse_with(html, &Limits::default())
}

/// Parses a document.
pub fn parse_with(html: &str, limits: &Limits) -> Snapshot {
    let max_nodes = limits.max_nodes.max(1);
    let max_depth = limits.max_depth.max(4) as usize;
    let whole = html;
    let html = &html[..html.floor_char_boundary(MAX_HTML)];

    let page = with_line_feeds(html);
    let builder = builder::Builder::new(arena::Arena::new(page.len(), limits));
    let nesting = nesting::Nesting::new(builder, max_nodes);
    let mut arena = tokenizer::Tokenizer::new(&page, nesting).run();
    arena.truncated |= html.len() < whole.len();
    emit::write(arena, max_nodes, max_depth)
}

/// The page with all line ends made `\n`:
/// <https://html.spec.whatwg.org/multipage/parsing.html#preprocessing-the-input-stream>
fn with_line_feeds(html: &str) -> Cow<'_, str> {
    let mut page = String::new();
    let mut copied = 0;
    for at in memchr::memchr_iter(b'\r', html.as_bytes()) {
        if copied == 0 {
            page.reserve_exact(html.len());
        }
        page.push_str(&html[copied..at]);
        copied = at + 1;
        if html.as_bytes().get(copied) != Some(&b'\n') {
            page.push('\n');
        }
    }
    if copied == 0 {
        return Cow::Borrowed(html);
    }
    page.push_str(&html[copied..]);
    Cow::Owned(page)
}
