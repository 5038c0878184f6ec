//! HTML that stands in a page as text: what a `noscript` element holds.
//!
//! With scripts on, a parser leaves the contents of `noscript` as they are. Some
//! applications put their whole page there for readers without scripts. Parsing it by the
//! standard is the host's work; this reads enough of it to find the content: tags,
//! attributes, common character references and the end tags that may be left out.

use orbweaver_sdk::dom::{Node, Snapshot, View, attr, format, tag};
use orbweaver_sdk::text::{is_hidden, stretches};

use crate::visible::{self, Look};

/// Shortest `noscript` that may hold a page, in bytes.
const MIN_BYTES: usize = 1500;
/// Deepest nesting that is followed; deeper elements become siblings.
const MAX_DEPTH: usize = 512;
/// Attributes of an element that are read.
const MAX_ATTRIBUTES: usize = 64;

/// The page that readers without scripts get, as a document of its own, where nearly all text of
/// the page is in a `noscript`: forums that are applications keep their threads there.
pub fn without_scripts(view: &View<'_>) -> Option<Snapshot> {
    let body = view.body()?;
    if !view.tagged(|id| id == tag::NOSCRIPT).any(is_large) {
        return None;
    }
    let found = visible_bytes(body);
    noscript(view, found).filter(|snapshot| {
        let other = snapshot.view().ok();
        let written = other.and_then(|view| view.body().map(visible_bytes));
        written.is_some_and(|written| written > found * 2)
    })
}

/// How much text readers see below an element, white space aside.
fn visible_bytes(element: Node<'_>) -> usize {
    let (mut bytes, mut id) = (0, element.id() + 1);
    while let Some(node) = element.view().node(id).filter(|n| n.id() < element.end()) {
        id += 1;
        if node.is_text() {
            bytes += stretches(node.text()).map(str::len).sum::<usize>();
        } else if is_hidden(node.tag()) || visible::look(node, node.tag()) == Look::Hidden {
            id = node.end();
        }
    }
    bytes
}

/// Whether a `noscript` may hold a page.
fn is_large(node: Node<'_>) -> bool {
    let text = node.first_child();
    text.is_some_and(|text| text.text().len() >= MIN_BYTES)
}

/// The page's largest `noscript` as a document of its own, if it may hold far more text
/// than the `found` bytes that the page has without it.
pub fn noscript(view: &View<'_>, found: usize) -> Option<Snapshot> {
    let text = view
        .tagged(|id| id == tag::NOSCRIPT)
        .filter_map(|n| n.first_child())
        .map(|n| n.text())
        .max_by_key(|text| text.len())?;
    if text.len() < MIN_BYTES || text.len() < found * 2 {
        return None;
    }
    Some(Builder::default().build(text))
}

#[derive(Default)]
struct Builder {
    nodes: Vec<[u32; format::NODE_WORDS]>,
    attrs: Vec<[u32; format::ATTR_WORDS]>,
    text: String,
    /// Open elements: id, tag, last child.
    open: Vec<(u32, u16, u32)>,
}

impl Builder {
    fn build(mut self, html: &str) -> Snapshot {
        self.nodes
            .push([format::KIND_DOCUMENT, format::NONE, 0, format::NONE, 0, 0]);
        self.open.push((0, tag::UNKNOWN, format::NONE));
        self.begin(tag::HTML, "");
        self.begin(tag::BODY, "");
        let floor = self.open.len();
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            self.push_text(before);
            rest = self.markup(from, floor);
        }
        self.push_text(rest);
        while !self.open.is_empty() {
            self.end();
        }
        let mut words = vec![
            format::MAGIC | format::VERSION,
            self.nodes.len() as u32,
            self.attrs.len() as u32,
            0,
        ];
        words.resize(format::HEADER_WORDS, 0);
        words.extend(self.nodes.iter().flatten());
        words.extend(self.attrs.iter().flatten());
        Snapshot {
            words,
            text: self.text,
        }
    }

    /// Reads what begins with `<`; returns what follows it.
    fn markup<'h>(&mut self, from: &'h str, floor: usize) -> &'h str {
        if let Some(comment) = from.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, rest)| rest);
        }
        let inner = from.get(1..).unwrap_or("");
        let closing = inner.starts_with('/');
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
            self.push_text(from.get(..1).unwrap_or(""));
            return from.get(1..).unwrap_or("");
        }
        let Some(end) = tag_end(inner) else { return "" };
        let (body, rest) = (
            inner.get(..end).unwrap_or(""),
            inner.get(end + 1..).unwrap_or(""),
        );
        let len = body
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .unwrap_or(body.len());
        let (name, attrs) = body.split_at(len);
        let id = tag::id(&name.to_ascii_lowercase());
        if closing {
            self.close(id, floor);
            return rest;
        }
        if name.is_empty() || matches!(id, tag::HTML | tag::HEAD | tag::BODY) {
            return rest;
        }
        if matches!(id, tag::SCRIPT | tag::STYLE) {
            let close = if id == tag::SCRIPT {
                "</script"
            } else {
                "</style"
            };
            let at = rest.find(close).unwrap_or(rest.len());
            return rest.get(at..).unwrap_or("");
        }
        self.imply_ends(id, floor);
        self.begin(id, attrs);
        let void = matches!(
            id,
            tag::BR
                | tag::HR
                | tag::IMG
                | tag::INPUT
                | tag::META
                | tag::LINK
                | tag::WBR
                | tag::AREA
                | tag::SOURCE
                | tag::COL
                | tag::EMBED
                | tag::TRACK
        );
        if void || self.open.len() > MAX_DEPTH {
            self.end();
        }
        rest
    }

    /// Ends what a start tag ends without saying so.
    fn imply_ends(&mut self, id: u16, floor: usize) {
        let ends: &[u16] = match id {
            tag::LI => &[tag::LI],
            tag::DT | tag::DD => &[tag::DT, tag::DD],
            tag::TR => &[tag::TR, tag::TD, tag::TH],
            tag::TD | tag::TH => &[tag::TD, tag::TH],
            tag::P
            | tag::DIV
            | tag::UL
            | tag::OL
            | tag::BLOCKQUOTE
            | tag::PRE
            | tag::TABLE
            | tag::H1..=tag::H6 => &[tag::P],
            _ => return,
        };
        while self.open.len() > floor && self.open.last().is_some_and(|o| ends.contains(&o.1)) {
            self.end();
        }
    }

    fn close(&mut self, id: u16, floor: usize) {
        let Some(at) = self.open.iter().rposition(|o| o.1 == id) else {
            return;
        };
        while self.open.len() > at.max(floor) {
            self.end();
        }
    }

    fn add(&mut self, mut node: [u32; format::NODE_WORDS]) -> u32 {
        let id = self.nodes.len() as u32;
        if let Some(parent) = self.open.last_mut() {
            node[1] = parent.0;
            node[3] = parent.2;
            parent.2 = id;
        }
        node[2] = id + 1;
        self.nodes.push(node);
        id
    }

    fn begin(&mut self, tag: u16, attrs: &str) {
        if tag == tag::UNKNOWN {
            // An element outside the table has its name as a record before its attributes.
            let (offset, len) = self.store("x-unknown");
            self.attrs.push([0, offset, len, 0]);
        }
        let first = self.attrs.len() as u32;
        for (name, value) in attributes(attrs).take(MAX_ATTRIBUTES) {
            let id = attr::id(&name.to_ascii_lowercase());
            if id != attr::UNKNOWN {
                let (offset, len) = self.store(value);
                self.attrs.push([u32::from(id), offset, len, 0]);
            }
        }
        let count = self.attrs.len() as u32 - first;
        let id = self.add([
            format::KIND_ELEMENT | u32::from(tag) << 16,
            0,
            0,
            0,
            first,
            count,
        ]);
        self.open.push((id, tag, format::NONE));
    }

    fn end(&mut self) {
        let end = self.nodes.len() as u32;
        if let Some((id, ..)) = self.open.pop()
            && let Some(node) = self.nodes.get_mut(id as usize)
        {
            node[2] = end;
        }
    }

    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            let (offset, len) = self.store(text);
            self.add([format::KIND_TEXT, 0, 0, 0, offset, len]);
        }
    }

    /// Stores a string with its character references decoded.
    fn store(&mut self, text: &str) -> (u32, u32) {
        let offset = self.text.len();
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            let (before, from) = rest.split_at(at);
            self.text.push_str(before);
            let end = from.bytes().take(12).position(|b| b == b';');
            match end.and_then(|end| Some((reference(from.get(1..end)?)?, end))) {
                Some((c, end)) => {
                    self.text.push(c);
                    rest = from.get(end + 1..).unwrap_or("");
                }
                None => {
                    self.text.push('&');
                    rest = from.get(1..).unwrap_or("");
                }
            }
        }
        self.text.push_str(rest);
        (offset as u32, (self.text.len() - offset) as u32)
    }
}

/// Where a tag ends: the first `>` outside quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(q), b) if b == q => quote = None,
            _ => {}
        }
    }
    None
}

/// The attributes in the inside of a start tag, values as written.
fn attributes(attrs: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = attrs;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        let (name, behind) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let Some(value) = behind.trim_ascii_start().strip_prefix('=') else {
            rest = behind;
            return (!name.is_empty()).then_some((name, ""));
        };
        let value = value.trim_ascii_start();
        let (value, behind) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = value.get(1..).unwrap_or("");
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            _ => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        rest = behind;
        Some((name, value))
    })
}

/// The character of a reference, without `&` and `;`.
fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        _ => return None,
    })
}
