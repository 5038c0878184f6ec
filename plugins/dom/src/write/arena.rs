//! The tree while it is being built: nodes in one vector, links as indices.

use std::ops::Range;

use super::Limits;
use super::token::{Attr, AttrParts};
use crate::format::{KIND_DOCUMENT, KIND_ELEMENT, KIND_TEXT, NONE};

/// Attributes one element may gain from repeated `<html>` and `<body>` tags.
const MAX_MERGED_ATTRS: u32 = 512;

/// A node. `first`, `last`: children of a document or element; of a text node the further
/// pieces, where it could not be kept in one.
#[derive(Clone, Copy)]
pub(super) struct ArenaNode {
    /// Word 0 of the record.
    pub(super) kind: u32,
    pub(super) parent: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    /// Element: index of its first attribute. Else: offset in `text`.
    pub(super) start: u32,
    /// Element: number of attributes. Else: length in bytes.
    pub(super) len: u32,
}

impl ArenaNode {
    const fn new(kind: u32, start: u32, len: u32) -> Self {
        Self {
            kind,
            parent: NONE,
            prev: NONE,
            next: NONE,
            first: NONE,
            last: NONE,
            start,
            len,
        }
    }

    pub(super) fn is(&self, kind: u32) -> bool {
        self.kind & 0xff == kind
    }
}

/// A further piece of a text node whose first one was no longer at the end of the buffer.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) next: u32,
}

/// Nodes, attribute records and strings of the document, attached or not.
pub(super) struct Arena {
    pub(super) nodes: Vec<ArenaNode>,
    /// Records as the snapshot has them. Before the first attribute of an element
    /// whose name is not in the table stands its name.
    pub(super) attrs: Vec<[u32; 4]>,
    pub(super) pieces: Vec<Piece>,
    pub(super) text: String,
    pub(super) quirks: bool,
    pub(super) truncated: bool,
    max_text: usize,
    max_attrs: usize,
}

impl Arena {
    /// A document without children. `html_len`: length of the source, for sizing.
    pub(super) fn new(html_len: usize, limits: &Limits) -> Self {
        // Real pages have a node per 30 to 60 bytes and an attribute per 40 to 80.
        let nodes = html_len / 32 + 64;
        let mut arena = Arena {
            nodes: Vec::with_capacity(nodes.min(limits.max_nodes as usize)),
            attrs: Vec::with_capacity((nodes / 2).min(limits.max_attrs as usize)),
            pieces: Vec::new(),
            text: String::with_capacity(html_len),
            quirks: false,
            truncated: false,
            // A NUL becomes three bytes of U+FFFD; what comes beyond that is reopened
            // formatting elements repeating their attributes.
            max_text: html_len
                .saturating_mul(4)
                .saturating_add(1 << 20)
                .min(limits.max_text as usize)
                .min(1 << 30),
            max_attrs: limits.max_attrs.min(1 << 28) as usize,
        };
        arena.push_node(ArenaNode::new(KIND_DOCUMENT, 0, 0));
        arena
    }

    /// The length of `text`, always below `u32::MAX`: see [`push_str`](Self::push_str).
    fn text_len(&self) -> u32 {
        self.text.len() as u32
    }

    /// Appends to the text buffer, unless that would pass its limit, and returns offset and length.
    fn push_str(&mut self, s: &str) -> (u32, u32) {
        let start = self.text_len();
        if self.text.len() + s.len() > self.max_text {
            self.truncated = true;
            return (start, 0);
        }
        self.text.push_str(s);
        (start, s.len() as u32)
    }

    fn push_node(&mut self, node: ArenaNode) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(node);
        id
    }

    /// A new comment or doctype, attached to nothing.
    pub(super) fn push_leaf(&mut self, kind: u32, text: &str) -> u32 {
        let (start, len) = self.push_str(text);
        self.push_node(ArenaNode::new(kind, start, len))
    }

    /// [`push_str`](Self::push_str) of a part of the buffer.
    fn push_again(&mut self, part: Range<usize>) -> (u32, u32) {
        let (start, len) = (self.text_len(), part.len());
        if self.text.len() + len > self.max_text {
            self.truncated = true;
            return (start, 0);
        }
        self.text.extend_from_within(part);
        (start, len as u32)
    }

    /// Whether there is no room for one more attribute, which is then left out.
    fn is_full_of_attrs(&mut self) -> bool {
        let is_full = self.attrs.len() >= self.max_attrs;
        self.truncated |= is_full;
        is_full
    }

    fn push_attr(&mut self, (word, name, value): AttrParts<'_>) {
        if self.is_full_of_attrs() {
            return;
        }
        let name_len = if name.is_empty() {
            0
        } else {
            self.push_str(name).1
        };
        let (start, len) = self.push_str(value);
        self.attrs.push([word, start, len, name_len]);
    }

    /// A new element, attached to nothing. `tag`: its name's id, 0 if that is `spelled` out.
    pub(super) fn create_element<'t>(
        &mut self,
        namespace: u32,
        tag: u16,
        spelled: &str,
        attrs: impl Iterator<Item = AttrParts<'t>>,
    ) -> u32 {
        if tag == 0 {
            let (start, len) = self.push_str(spelled);
            self.attrs.push([0, start, len, 0]);
        }
        let first = self.attrs.len() as u32;
        for attribute in attrs {
            self.push_attr(attribute);
        }
        let kind = KIND_ELEMENT | namespace << 8 | u32::from(tag) << 16;
        self.push_node(ArenaNode::new(kind, first, self.attrs.len() as u32 - first))
    }

    /// A new element with the name, which is in the table, and the attributes of another one.
    pub(super) fn create_like(&mut self, id: u32) -> u32 {
        let ArenaNode {
            kind, start, len, ..
        } = self.nodes[id as usize];
        let first = self.attrs.len() as u32;
        for at in start..start + len {
            if self.is_full_of_attrs() {
                break;
            }
            let [name, start, len, name_len] = self.attrs[at as usize];
            let (start, len, name_len) = (start as usize, len as usize, name_len as usize);
            let name_len = self.push_again(start - name_len..start).1;
            let (start, len) = self.push_again(start..start + len);
            self.attrs.push([name, start, len, name_len]);
        }
        self.push_node(ArenaNode::new(kind, first, self.attrs.len() as u32 - first))
    }

    /// Whether an element that was made of these attributes now would be like another one: the same
    /// names with the same values, in any order.
    pub(super) fn has_equal_attrs(&self, id: u32, attrs: &[Attr<'_>]) -> bool {
        let ArenaNode { start, len, .. } = self.nodes[id as usize];
        let records = &self.attrs[start as usize..(start + len) as usize];
        let room = self.max_attrs.saturating_sub(self.attrs.len());
        let attrs = attrs.get(..room).unwrap_or(attrs);
        if records.len() != attrs.len() {
            return false;
        }
        for (record, attribute) in records.iter().zip(attrs) {
            let (word, name, value) = attribute.parts();
            let (known, known_name) = self.attr_name(record);
            if known != word || !is_same(known_name, name) {
                return self.has_attrs_in_other_order(records, attrs);
            }
            if !is_same(self.attr_value(record), value) {
                return false;
            }
        }
        true
    }

    fn has_attrs_in_other_order(&self, records: &[[u32; 4]], attrs: &[Attr<'_>]) -> bool {
        let mut known: Vec<_> = records
            .iter()
            .map(|record| (self.attr_name(record), self.attr_value(record)))
            .collect();
        let given = attrs.iter().map(Attr::parts);
        let mut given: Vec<_> = given
            .map(|(word, name, value)| ((word, name), value))
            .collect();
        known.sort_unstable();
        given.sort_unstable();
        known == given
    }

    /// Adds those attributes that the element does not have. Attributes of one element
    /// stand together, so the old ones move to the end of the list if they are not there.
    pub(super) fn add_missing(&mut self, id: u32, attrs: &[Attr<'_>]) {
        for attribute in attrs {
            let ArenaNode {
                kind, start, len, ..
            } = self.nodes[id as usize];
            let own = start as usize..(start + len) as usize;
            if len >= MAX_MERGED_ATTRS {
                self.truncated = true;
                return;
            }
            let (end, text_end) = (self.attrs.len(), self.text.len());
            self.push_attr(attribute.parts());
            let Some(added) = self.attrs.get(end).copied() else {
                return;
            };
            let name = self.attr_name(&added);
            if self.attrs[own.clone()]
                .iter()
                .any(|known| self.attr_name(known) == name)
            {
                self.attrs.truncate(end);
                self.text.truncate(text_end);
                continue;
            }
            if own.end != end {
                self.attrs.truncate(end);
                let named = usize::from(kind >> 16 == 0);
                self.attrs.extend_from_within(own.start - named..own.end);
                self.attrs.push(added);
                self.nodes[id as usize].start = (end + named) as u32;
            }
            self.nodes[id as usize].len += 1;
        }
    }

    /// An attribute's identity: id and namespace, or the spelled-out name.
    fn attr_name(&self, record: &[u32; 4]) -> (u32, &str) {
        let [id, start, _, name_len] = *record;
        let name = (start - name_len) as usize..start as usize;
        (id, self.text.get(name).unwrap_or(""))
    }

    fn attr_value(&self, record: &[u32; 4]) -> &str {
        let [_, start, len, _] = *record;
        let value = start as usize..(start + len) as usize;
        self.text.get(value).unwrap_or("")
    }

    /// The parent of a node, [`NONE`] if it is attached to nothing.
    pub(super) fn parent(&self, id: u32) -> u32 {
        self.nodes[id as usize].parent
    }

    /// Takes a node out of its parent.
    pub(super) fn detach(&mut self, id: u32) {
        let ArenaNode {
            parent, prev, next, ..
        } = self.nodes[id as usize];
        if parent == NONE {
            return;
        }
        match prev {
            NONE => self.nodes[parent as usize].first = next,
            prev => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => self.nodes[parent as usize].last = prev,
            next => self.nodes[next as usize].prev = prev,
        }
        let node = &mut self.nodes[id as usize];
        (node.parent, node.prev, node.next) = (NONE, NONE, NONE);
    }

    /// Moves a node to the end of another's children.
    pub(super) fn append(&mut self, parent: u32, id: u32) {
        self.detach(id);
        let last = std::mem::replace(&mut self.nodes[parent as usize].last, id);
        match last {
            NONE => self.nodes[parent as usize].first = id,
            last => self.nodes[last as usize].next = id,
        }
        let node = &mut self.nodes[id as usize];
        (node.parent, node.prev, node.next) = (parent, last, NONE);
    }

    /// Moves a node before another one; to nowhere if that is attached to nothing.
    pub(super) fn insert_before(&mut self, sibling: u32, id: u32) {
        self.detach(id);
        let ArenaNode { parent, prev, .. } = self.nodes[sibling as usize];
        if parent == NONE {
            return;
        }
        match prev {
            NONE => self.nodes[parent as usize].first = id,
            prev => self.nodes[prev as usize].next = id,
        }
        self.nodes[sibling as usize].prev = id;
        let node = &mut self.nodes[id as usize];
        (node.parent, node.prev, node.next) = (parent, prev, sibling);
    }

    /// Appends to the text node `id`, or makes a new one if it is none.
    /// Returns the new one's id.
    fn push_text(&mut self, id: u32, s: &str) -> Option<u32> {
        let end = self.text_len();
        let Some(node) = self.nodes.get_mut(id as usize).filter(|n| n.is(KIND_TEXT)) else {
            let (start, len) = self.push_str(s);
            return (len > 0).then(|| self.push_node(ArenaNode::new(KIND_TEXT, start, len)));
        };
        let (last, tail) = match node.last {
            NONE => (NONE, node.start + node.len),
            last => (
                last,
                self.pieces[last as usize].start + self.pieces[last as usize].len,
            ),
        };
        let (start, len) = self.push_str(s);
        if tail == end {
            match last {
                NONE => self.nodes[id as usize].len += len,
                last => self.pieces[last as usize].len += len,
            }
            return None;
        }
        let piece = self.pieces.len() as u32;
        self.pieces.push(Piece {
            start,
            len,
            next: NONE,
        });
        self.nodes[id as usize].last = piece;
        match last {
            NONE => self.nodes[id as usize].first = piece,
            last => self.pieces[last as usize].next = piece,
        }
        None
    }

    /// Adds text at the end of a node's children. It joins a text that is there.
    pub(super) fn append_text(&mut self, parent: u32, text: &str) {
        if let Some(id) = self.push_text(self.nodes[parent as usize].last, text) {
            self.append(parent, id);
        }
    }

    /// Adds text before a node. It joins a text that is there.
    pub(super) fn insert_text_before(&mut self, sibling: u32, text: &str) {
        if let Some(id) = self.push_text(self.nodes[sibling as usize].prev, text) {
            self.insert_before(sibling, id);
        }
    }

    /// Moves all children of a node to the end of another's.
    pub(super) fn reparent_children(&mut self, from: u32, to: u32) {
        let source = &mut self.nodes[from as usize];
        let first = std::mem::replace(&mut source.first, NONE);
        let last = std::mem::replace(&mut source.last, NONE);
        if first == NONE {
            return;
        }
        let mut child = first;
        while child != NONE {
            let node = &mut self.nodes[child as usize];
            node.parent = to;
            child = node.next;
        }
        let before = std::mem::replace(&mut self.nodes[to as usize].last, last);
        self.nodes[first as usize].prev = before;
        match before {
            NONE => self.nodes[to as usize].first = first,
            before => self.nodes[before as usize].next = first,
        }
    }
}

/// Whether two strings are equal. Most names here are empty, and some processors take long to compare
/// nothing at the address that stands for it.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}
