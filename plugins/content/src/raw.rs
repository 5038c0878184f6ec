//! HTML that stands in a page as text: what a `noscript` element holds.
//!
//! With scripts on, a parser leaves the contents of `noscript` as they are. Some
//! applications put their whole page there for readers without scripts. Parsing it by the
//! standard is the host's work; this reads its tokens as the host does, and of the rules for trees
//! those on end tags that may be left out.

use orbweaver_markup::{Name, Place, Tag, Token, Tokens, decode_into, names};
use orbweaver_sdk::dom::{Node, Snapshot, View, attr, format, tag};
use orbweaver_sdk::text::{is_hidden, stretches};

use crate::visible::{self, Look};

/// Shortest `noscript` that may hold a page, in bytes.
const MIN_BYTES: usize = 1500;
/// Deepest nesting that is followed; deeper elements become siblings.
const MAX_DEPTH: usize = 512;

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

/// An element that is open.
struct Open {
    id: u32,
    tag: u16,
    name: Name,
    last_child: u32,
}

#[derive(Default)]
struct Builder {
    nodes: Vec<[u32; format::NODE_WORDS]>,
    attrs: Vec<[u32; format::ATTR_WORDS]>,
    text: String,
    open: Vec<Open>,
    /// How many of them are open in every document.
    floor: usize,
}

impl Builder {
    fn build(mut self, html: &str) -> Snapshot {
        self.nodes
            .push([format::KIND_DOCUMENT, format::NONE, 0, format::NONE, 0, 0]);
        self.push_open(0, tag::UNKNOWN, Name::new(""));
        let mut tokens = Tokens::new(html);
        self.begin(tag::HTML, names::HTML, &tokens);
        self.begin(tag::BODY, names::BODY, &tokens);
        self.floor = self.open.len();
        while let Some(token) = tokens.next() {
            match token {
                Token::Start(tag) => self.start(tag, &tokens),
                Token::End(name) => self.close(name),
                Token::Text(text) => {
                    let text = self.store(text, Place::Text);
                    self.push_text(text);
                }
                Token::Verbatim(text) => {
                    let offset = self.text.len();
                    self.text.push_str(text);
                    self.push_text((offset as u32, text.len() as u32));
                }
                // The title of no document.
                Token::Title(_) => {}
            }
        }
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

    fn start(&mut self, tag: Tag, tokens: &Tokens<'_>) {
        let id = tag::id(&tokens.name().to_ascii_lowercase());
        if matches!(id, tag::HTML | tag::HEAD | tag::BODY) {
            return;
        }
        self.imply_ends(id);
        self.begin(id, tag.name, tokens);
        if tag.empty || self.open.len() > MAX_DEPTH {
            self.end();
        }
    }

    /// Ends what a start tag ends without saying so.
    fn imply_ends(&mut self, id: u16) {
        let ends: &[u16] = match id {
            tag::A => return self.close(names::A),
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
        while self.open.len() > self.floor
            && self.open.last().is_some_and(|o| ends.contains(&o.tag))
        {
            self.end();
        }
    }

    fn close(&mut self, name: Name) {
        let Some(at) = self.open.iter().rposition(|o| o.name == name) else {
            return;
        };
        while self.open.len() > at.max(self.floor) {
            self.end();
        }
    }

    fn add(&mut self, mut node: [u32; format::NODE_WORDS]) -> u32 {
        let id = self.nodes.len() as u32;
        if let Some(parent) = self.open.last_mut() {
            node[1] = parent.id;
            node[3] = parent.last_child;
            parent.last_child = id;
        }
        node[2] = id + 1;
        self.nodes.push(node);
        id
    }

    fn push_open(&mut self, id: u32, tag: u16, name: Name) {
        self.open.push(Open {
            id,
            tag,
            name,
            last_child: format::NONE,
        });
    }

    /// Begins an element, with the attributes of the last start tag.
    fn begin(&mut self, tag: u16, name: Name, tokens: &Tokens<'_>) {
        if tag == tag::UNKNOWN {
            // An element outside the table has its name as a record before its attributes.
            let (offset, len) = self.store("x-unknown", Place::Attribute);
            self.attrs.push([0, offset, len, 0]);
        }
        let first = self.attrs.len() as u32;
        for (name, value) in tokens.attributes() {
            let id = attr::id(&name.to_ascii_lowercase());
            if id != attr::UNKNOWN {
                let (offset, len) = self.store(value, Place::Attribute);
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
        self.push_open(id, tag, name);
    }

    fn end(&mut self) {
        let end = self.nodes.len() as u32;
        if let Some(open) = self.open.pop()
            && let Some(node) = self.nodes.get_mut(open.id as usize)
        {
            node[2] = end;
        }
    }

    /// Adds a text that is stored.
    fn push_text(&mut self, (offset, len): (u32, u32)) {
        self.add([format::KIND_TEXT, 0, 0, 0, offset, len]);
    }

    /// Stores a string with its character references decoded.
    fn store(&mut self, text: &str, place: Place) -> (u32, u32) {
        let offset = self.text.len();
        decode_into(text, place, &mut self.text);
        (offset as u32, (self.text.len() - offset) as u32)
    }
}
