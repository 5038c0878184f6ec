//! The tree while it is being built: nodes in one vector, links as indices.

use html5ever::tree_builder::NodeOrText;
use html5ever::{Attribute, LocalName};

use super::Limits;
use super::atoms::{self, NameTable};
use super::sink::Handle;
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
    tag_ids: &'static NameTable,
    attr_ids: &'static NameTable,
}

impl Arena {
    /// A document without children; see [`Sink::new`](super::sink::Sink::new).
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
            tag_ids: &atoms::TAGS,
            attr_ids: &atoms::ATTRS,
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

    fn push_attr(&mut self, attribute: &Attribute) {
        if self.attrs.len() >= self.max_attrs {
            self.truncated = true;
            return;
        }
        let name = &attribute.name;
        let namespace = atoms::attr_namespace(&name.ns);
        let qualified = match &name.prefix {
            Some(prefix) if !prefix.is_empty() => {
                Some(LocalName::from(format!("{prefix}:{}", name.local)))
            }
            _ => None,
        };
        let local = qualified.as_ref().unwrap_or(&name.local);
        let id = self.attr_ids.id(local);
        let name_len = if id == 0 { self.push_str(local).1 } else { 0 };
        let (start, len) = self.push_str(&attribute.value);
        self.attrs
            .push([u32::from(id) | namespace << 16, start, len, name_len]);
    }

    /// A new element, attached to nothing.
    pub(super) fn create_element(
        &mut self,
        namespace: u8,
        name: &LocalName,
        attrs: &[Attribute],
    ) -> u32 {
        let tag = self.tag_ids.id(name);
        if tag == 0 {
            let (start, len) = self.push_str(name);
            self.attrs.push([0, start, len, 0]);
        }
        let first = self.attrs.len() as u32;
        for attribute in attrs {
            self.push_attr(attribute);
        }
        let kind = KIND_ELEMENT | u32::from(namespace) << 8 | u32::from(tag) << 16;
        self.push_node(ArenaNode::new(kind, first, self.attrs.len() as u32 - first))
    }

    /// Adds those attributes that the element does not have. Attributes of one element
    /// stand together, so the old ones move to the end of the list if they are not there.
    pub(super) fn add_missing(&mut self, id: u32, attrs: &[Attribute]) {
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
            self.push_attr(attribute);
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

    fn append_node(&mut self, parent: u32, id: u32) {
        self.detach(id);
        let last = std::mem::replace(&mut self.nodes[parent as usize].last, id);
        match last {
            NONE => self.nodes[parent as usize].first = id,
            last => self.nodes[last as usize].next = id,
        }
        let node = &mut self.nodes[id as usize];
        (node.parent, node.prev, node.next) = (parent, last, NONE);
    }

    fn insert_before(&mut self, sibling: u32, id: u32) {
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

    /// Adds a child at the end. Text joins a text that is there.
    pub(super) fn append(&mut self, parent: u32, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => self.append_node(parent, node.id),
            NodeOrText::AppendText(text) => {
                if let Some(id) = self.push_text(self.nodes[parent as usize].last, &text) {
                    self.append_node(parent, id);
                }
            }
        }
    }

    /// Adds a child before a sibling. Text joins a text that is there.
    pub(super) fn append_before(&mut self, sibling: u32, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => self.insert_before(sibling, node.id),
            NodeOrText::AppendText(text) => {
                if let Some(id) = self.push_text(self.nodes[sibling as usize].prev, &text) {
                    self.insert_before(sibling, id);
                }
            }
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
