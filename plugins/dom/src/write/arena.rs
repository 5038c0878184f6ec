//! The tree while it is being built: nodes in one vector, links as indices.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName};

use super::atoms::{self, NameTable};
use crate::format::{
    KIND_COMMENT, KIND_DOCTYPE, KIND_DOCUMENT, KIND_ELEMENT, KIND_TEXT, NONE, NS_HTML,
};

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

    fn create_element(&mut self, namespace: u8, name: &LocalName, attrs: &[Attribute]) -> u32 {
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
    /// stand together, so the old ones move to the end of the list.
    fn add_missing(&mut self, id: u32, attrs: &[Attribute]) {
        let ArenaNode {
            kind, start, len, ..
        } = self.nodes[id as usize];
        let named = kind >> 16 == 0;
        let old = start as usize - usize::from(named)..(start + len) as usize;
        let moved = self.attrs.len() + usize::from(named);
        self.attrs.extend_from_within(old);
        for attribute in attrs {
            let known = self.attrs.len();
            if known - moved >= MAX_MERGED_ATTRS as usize {
                self.truncated = true;
                break;
            }
            self.push_attr(attribute);
            let Some((added, before)) = self.attrs[moved..].split_last() else {
                continue;
            };
            if self.attrs.len() > known
                && before
                    .iter()
                    .any(|other| self.attr_name(other) == self.attr_name(added))
            {
                self.attrs.pop();
            }
        }
        let node = &mut self.nodes[id as usize];
        node.start = moved as u32;
        node.len = (self.attrs.len() - moved) as u32;
    }

    /// An attribute's identity: id and namespace, or the spelled-out name.
    fn attr_name(&self, record: &[u32; 4]) -> (u32, &str) {
        let [id, start, _, name_len] = *record;
        let name = (start - name_len) as usize..start as usize;
        (id, self.text.get(name).unwrap_or(""))
    }

    fn detach(&mut self, id: u32) {
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

    fn append(&mut self, parent: u32, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => self.append_node(parent, node.id),
            NodeOrText::AppendText(text) => {
                if let Some(id) = self.push_text(self.nodes[parent as usize].last, &text) {
                    self.append_node(parent, id);
                }
            }
        }
    }

    fn append_before(&mut self, sibling: u32, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => self.insert_before(sibling, node.id),
            NodeOrText::AppendText(text) => {
                if let Some(id) = self.push_text(self.nodes[sibling as usize].prev, &text) {
                    self.insert_before(sibling, id);
                }
            }
        }
    }

    fn reparent_children(&mut self, from: u32, to: u32) {
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

/// A node as html5ever holds it. An element's carries its name, so that the tree
/// builder's many questions about open elements never touch the arena.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    id: u32,
    namespace: u8,
    integration_point: bool,
    name: LocalName,
}

impl Handle {
    /// Its local name; empty for what is no element.
    pub(super) fn name(&self) -> &LocalName {
        &self.name
    }

    pub(super) fn is_html(&self) -> bool {
        u32::from(self.namespace) == NS_HTML
    }
}

/// The name of an element, borrowed from its handle.
#[derive(Debug)]
pub(super) struct Name<'a>(&'a Handle);

impl ElemName for Name<'_> {
    #[inline]
    fn ns(&self) -> &Namespace {
        atoms::namespace_of(self.0.namespace)
    }

    #[inline]
    fn local_name(&self) -> &LocalName {
        &self.0.name
    }
}

/// The sink that html5ever builds the tree in.
pub(super) struct Sink {
    arena: RefCell<Arena>,
    max_nodes: usize,
    /// While set, what is appended only shows where it would have gone.
    probing: Cell<bool>,
    probed: RefCell<Option<Handle>>,
}

impl Sink {
    /// An empty document. `html_len`: length of the source, for sizing; `max_nodes` bounds
    /// the attributes that reopened formatting elements may multiply.
    pub(super) fn new(html_len: usize, max_nodes: usize) -> Self {
        // Real pages have a node per 30 to 60 bytes and an attribute per 40 to 80.
        let nodes = html_len / 32 + 64;
        let mut arena = Arena {
            nodes: Vec::with_capacity(nodes.min(max_nodes)),
            attrs: Vec::with_capacity(nodes / 2),
            pieces: Vec::new(),
            text: String::with_capacity(html_len),
            quirks: false,
            truncated: false,
            // A NUL becomes three bytes of U+FFFD; what comes beyond that is reopened
            // formatting elements repeating their attributes.
            max_text: html_len
                .saturating_mul(4)
                .saturating_add(1 << 20)
                .min(1 << 30),
            max_attrs: max_nodes.saturating_mul(4).min(1 << 28),
            tag_ids: &atoms::TAGS,
            attr_ids: &atoms::ATTRS,
        };
        arena.push_node(ArenaNode::new(KIND_DOCUMENT, 0, 0));
        Self {
            arena: RefCell::new(arena),
            max_nodes,
            probing: Cell::new(false),
            probed: RefCell::new(None),
        }
    }

    /// Whether the tree has more nodes than it may have.
    pub(super) fn is_full(&self) -> bool {
        self.arena.borrow().nodes.len() > self.max_nodes
    }

    /// Where a node goes that is appended during `work`, which is not appended.
    pub(super) fn probe(&self, work: impl FnOnce()) -> Option<Handle> {
        self.probing.set(true);
        work();
        self.probing.set(false);
        self.probed.take()
    }

    fn unnamed(id: u32) -> Handle {
        Handle {
            id,
            namespace: 0,
            integration_point: false,
            name: LocalName::default(),
        }
    }
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Arena;
    type ElemName<'a> = Name<'a>;

    fn finish(self) -> Arena {
        self.arena.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Self::unnamed(0)
    }

    #[inline]
    fn elem_name<'a>(&'a self, target: &'a Handle) -> Name<'a> {
        Name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        let namespace = atoms::element_namespace(&name.ns);
        let id = self
            .arena
            .borrow_mut()
            .create_element(namespace, &name.local, &attrs);
        Handle {
            id,
            namespace,
            integration_point: flags.mathml_annotation_xml_integration_point,
            name: name.local,
        }
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        let mut arena = self.arena.borrow_mut();
        let (start, len) = arena.push_str(&text);
        Self::unnamed(arena.push_node(ArenaNode::new(KIND_COMMENT, start, len)))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        // HTML has none: its tokenizer makes comments of them.
        self.create_comment(StrTendril::from(format!("?{target} {data}")))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        if self.probing.get() {
            self.probed.replace(Some(parent.clone()));
            return;
        }
        self.arena.borrow_mut().append(parent.id, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        prev_element: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let mut arena = self.arena.borrow_mut();
        match arena.nodes[element.id as usize].parent {
            NONE => arena.append(prev_element.id, child),
            _ => arena.append_before(element.id, child),
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, _: StrTendril, _: StrTendril) {
        let mut arena = self.arena.borrow_mut();
        let (start, len) = arena.push_str(&name);
        let id = arena.push_node(ArenaNode::new(KIND_DOCTYPE, start, len));
        arena.append_node(0, id);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.arena.borrow_mut().quirks = mode == QuirksMode::Quirks;
    }

    fn append_before_sibling(&self, sibling: &Handle, new_node: NodeOrText<Handle>) {
        self.arena.borrow_mut().append_before(sibling.id, new_node);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        self.arena.borrow_mut().add_missing(target.id, &attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.arena.borrow_mut().detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        self.arena
            .borrow_mut()
            .reparent_children(node.id, new_parent.id);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        handle.integration_point
    }
}
