//! Reading a snapshot.

use std::fmt;

use crate::format::{
    ATTR_WORDS, FLAG_QUIRKS, FLAG_TRUNCATED, HEADER_WORDS, KIND_COMMENT, KIND_DOCTYPE,
    KIND_DOCUMENT, KIND_ELEMENT, KIND_TEXT, MAGIC, NODE_WORDS, NONE, NS_HTML, NS_MATHML, NS_SVG,
    NS_XLINK, NS_XML, NS_XMLNS, VERSION,
};
use crate::names::{attr, tag};

/// An owned snapshot, as it crosses the sandbox's boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Records; see [`format`](mod@crate::format).
    pub words: Vec<u32>,
    /// Every string of the document.
    pub text: String,
}

impl Snapshot {
    /// A view of this snapshot. Fails if it is none, or of a version this crate does not read.
    pub fn view(&self) -> Result<View<'_>, SnapshotError> {
        View::new(&self.words, &self.text)
    }

    /// Memory the two lists take, in bytes.
    pub fn size(&self) -> usize {
        self.words.len() * size_of::<u32>() + self.text.len()
    }
}

/// Why two lists are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The first word is not a snapshot's.
    NotASnapshot,
    /// A version this crate does not read.
    Version(u32),
    /// The header promises more records than there are words.
    Truncated,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => write!(f, "not a DOM snapshot"),
            Self::Version(v) => write!(f, "DOM snapshot version {v}; this reads version {VERSION}"),
            Self::Truncated => write!(f, "DOM snapshot is cut short"),
        }
    }
}

impl std::error::Error for SnapshotError {}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Document,
    Element,
    Text,
    Comment,
    Doctype,
}

/// The namespace of an element or attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// For an element HTML; for an attribute none.
    Html,
    Svg,
    MathMl,
    XLink,
    Xml,
    Xmlns,
    Other,
}

impl Namespace {
    fn from_bits(bits: u32) -> Self {
        match bits {
            NS_HTML => Self::Html,
            NS_SVG => Self::Svg,
            NS_MATHML => Self::MathMl,
            NS_XLINK => Self::XLink,
            NS_XML => Self::Xml,
            NS_XMLNS => Self::Xmlns,
            _ => Self::Other,
        }
    }
}

/// A read-only view of a snapshot. Every access is bounds-checked: a damaged snapshot
/// gives empty strings and missing nodes, never a crash.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) nodes: &'a [[u32; NODE_WORDS]],
    pub(crate) attrs: &'a [[u32; ATTR_WORDS]],
    text: &'a str,
    flags: u32,
}

impl<'a> View<'a> {
    /// Checks the header and divides the words into nodes and attributes.
    pub fn new(words: &'a [u32], text: &'a str) -> Result<Self, SnapshotError> {
        let (Some(&[mark, nodes, attrs, flags]), true) =
            (words.first_chunk::<4>(), words.len() >= HEADER_WORDS)
        else {
            return Err(SnapshotError::NotASnapshot);
        };
        if mark & 0xffff_0000 != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        if mark & 0xffff != VERSION {
            return Err(SnapshotError::Version(mark & 0xffff));
        }
        let node_end = (nodes as usize)
            .checked_mul(NODE_WORDS)
            .and_then(|n| n.checked_add(HEADER_WORDS))
            .ok_or(SnapshotError::Truncated)?;
        let attr_end = (attrs as usize)
            .checked_mul(ATTR_WORDS)
            .and_then(|n| n.checked_add(node_end))
            .ok_or(SnapshotError::Truncated)?;
        let node_words = words
            .get(HEADER_WORDS..node_end)
            .ok_or(SnapshotError::Truncated)?;
        let attr_words = words
            .get(node_end..attr_end)
            .ok_or(SnapshotError::Truncated)?;
        if node_words.is_empty() {
            return Err(SnapshotError::Truncated);
        }
        Ok(Self {
            nodes: node_words.as_chunks().0,
            attrs: attr_words.as_chunks().0,
            text,
            flags,
        })
    }

    /// The document node.
    pub fn root(&'a self) -> Node<'a> {
        Node { view: self, id: 0 }
    }

    /// The number of nodes; ids are `0..len()`, in document order.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a snapshot always has its document node"
    )]
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The node with this id.
    pub fn node(&'a self, id: u32) -> Option<Node<'a>> {
        ((id as usize) < self.nodes.len()).then_some(Node { view: self, id })
    }

    /// Every node in document order.
    pub fn nodes(&'a self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone {
        (0..self.len()).map(move |id| Node { view: self, id })
    }

    /// The `<html>` element.
    pub fn html(&'a self) -> Option<Node<'a>> {
        self.root().children().find(|n| n.tag() == tag::HTML)
    }

    /// The `<head>` element.
    pub fn head(&'a self) -> Option<Node<'a>> {
        self.html()?.children().find(|n| n.tag() == tag::HEAD)
    }

    /// The `<body>` element (or the `<frameset>` in its place).
    pub fn body(&'a self) -> Option<Node<'a>> {
        self.html()?
            .children()
            .find(|n| matches!(n.tag(), tag::BODY | tag::FRAMESET))
    }

    /// Whether the document is in quirks mode.
    pub fn quirks(&self) -> bool {
        self.flags & FLAG_QUIRKS != 0
    }

    /// Whether the tree was cut at the writer's depth or node limit.
    pub fn truncated(&self) -> bool {
        self.flags & FLAG_TRUNCATED != 0
    }

    fn str(&self, offset: u32, len: u32) -> &'a str {
        let start = offset as usize;
        self.text
            .get(start..start.saturating_add(len as usize))
            .unwrap_or("")
    }

    fn attr_at(&self, index: u32) -> Option<Attr<'a>> {
        let record = *self.attrs.get(index as usize)?;
        Some(Attr {
            view: *self,
            record,
        })
    }
}

/// One node of a [`View`]; as cheap to copy as a pointer and an integer.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    view: &'a View<'a>,
    id: u32,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.view.nodes, other.view.nodes)
    }
}

impl Eq for Node<'_> {}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Element => write!(f, "#{} <{}>", self.id, self.name()),
            Kind::Text => write!(f, "#{} {:?}", self.id, self.text()),
            kind => write!(f, "#{} {kind:?}", self.id),
        }
    }
}

impl<'a> Node<'a> {
    #[inline]
    pub(crate) fn record(&self) -> &'a [u32; NODE_WORDS] {
        const EMPTY: [u32; NODE_WORDS] = [KIND_COMMENT, NONE, 0, NONE, 0, 0];
        self.view.nodes.get(self.id as usize).unwrap_or(&EMPTY)
    }

    /// The view this node is of.
    pub fn view(&self) -> &'a View<'a> {
        self.view
    }

    /// Its number: its place in document order.
    #[inline]
    pub fn id(&self) -> u32 {
        self.id
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        match self.record()[0] & 0xff {
            KIND_DOCUMENT => Kind::Document,
            KIND_ELEMENT => Kind::Element,
            KIND_TEXT => Kind::Text,
            KIND_DOCTYPE => Kind::Doctype,
            _ => Kind::Comment,
        }
    }

    #[inline]
    pub fn is_element(&self) -> bool {
        self.record()[0] & 0xff == KIND_ELEMENT
    }

    #[inline]
    pub fn is_text(&self) -> bool {
        self.record()[0] & 0xff == KIND_TEXT
    }

    /// The tag id of an HTML, SVG or MathML element; [`tag::UNKNOWN`] for names outside
    /// the table and for what is no element. SVG's `a` or `title` has the same id as
    /// HTML's: ask [`namespace`](Self::namespace) where that matters.
    #[inline]
    pub fn tag(&self) -> u16 {
        (self.record()[0] >> 16) as u16
    }

    /// The namespace of an element.
    pub fn namespace(&self) -> Namespace {
        Namespace::from_bits(self.namespace_bits())
    }

    pub(crate) fn namespace_bits(&self) -> u32 {
        self.record()[0] >> 8 & 0xff
    }

    /// An element's local name, lower-case in HTML; empty for what is no element.
    pub fn name(&self) -> &'a str {
        let record = self.record();
        if record[0] & 0xff != KIND_ELEMENT {
            return "";
        }
        match self.tag() {
            tag::UNKNOWN => match record[4].checked_sub(1).and_then(|i| self.view.attr_at(i)) {
                Some(name) => name.value(),
                None => "",
            },
            known => tag::name(known),
        }
    }

    /// The text of a text or comment node, the name of a doctype; empty for an element.
    #[inline]
    pub fn text(&self) -> &'a str {
        let record = self.record();
        match record[0] & 0xff {
            KIND_TEXT | KIND_COMMENT | KIND_DOCTYPE => self.view.str(record[4], record[5]),
            _ => "",
        }
    }

    /// The id after the last descendant: the subtree is `id()..end()`.
    #[inline]
    pub fn end(&self) -> u32 {
        // A damaged snapshot must not send a walk backwards.
        self.record()[2].clamp(self.id + 1, self.view.len().max(self.id + 1))
    }

    #[inline]
    pub fn parent(&self) -> Option<Node<'a>> {
        let parent = self.record()[1];
        (parent < self.id).then_some(Node {
            view: self.view,
            id: parent,
        })
    }

    #[inline]
    pub fn first_child(&self) -> Option<Node<'a>> {
        (self.end() > self.id + 1).then_some(Node {
            view: self.view,
            id: self.id + 1,
        })
    }

    #[inline]
    pub fn next_sibling(&self) -> Option<Node<'a>> {
        let end = self.end();
        (end < self.parent()?.end()).then_some(Node {
            view: self.view,
            id: end,
        })
    }

    #[inline]
    pub fn prev_sibling(&self) -> Option<Node<'a>> {
        let prev = self.record()[3];
        (prev < self.id).then_some(Node {
            view: self.view,
            id: prev,
        })
    }

    /// Direct children, in order.
    pub fn children(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        std::iter::successors(self.first_child(), Node::next_sibling)
    }

    /// Direct children that are elements, in order.
    pub fn child_elements(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        self.children().filter(Node::is_element)
    }

    /// Parent, its parent, and so on up to the document.
    pub fn ancestors(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        std::iter::successors(self.parent(), Node::parent)
    }

    /// Every node below this one, in document order.
    pub fn descendants(&self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone + use<'a> {
        let view = self.view;
        (self.id + 1..self.end()).map(move |id| Node { view, id })
    }

    /// Whether `other` is this node or below it.
    pub fn contains(&self, other: Node<'_>) -> bool {
        (self.id..self.end()).contains(&other.id)
    }

    /// The concatenated text below this node, as DOM's `textContent`: scripts and all.
    pub fn text_content(&self) -> String {
        let mut out = String::new();
        self.push_text_content(&mut out);
        out
    }

    /// Appends what [`text_content`](Self::text_content) returns.
    pub fn push_text_content(&self, out: &mut String) {
        if self.is_text() {
            return out.push_str(self.text());
        }
        for node in self.descendants() {
            if node.is_text() {
                out.push_str(node.text());
            }
        }
    }

    /// Attributes in source order.
    pub fn attrs(&self) -> impl Iterator<Item = Attr<'a>> + use<'a> {
        let record = self.record();
        let count = if record[0] & 0xff == KIND_ELEMENT {
            record[5]
        } else {
            0
        };
        let first = record[4];
        let view = self.view;
        (first..first.saturating_add(count)).map_while(move |i| view.attr_at(i))
    }

    /// The value of the attribute with this id (see [`attr`](mod@crate::attr)).
    #[inline]
    pub fn attr(&self, id: u16) -> Option<&'a str> {
        let record = self.record();
        if record[0] & 0xff != KIND_ELEMENT || id == attr::UNKNOWN {
            return None;
        }
        let first = record[4] as usize;
        let attrs = self
            .view
            .attrs
            .get(first..first.saturating_add(record[5] as usize))?;
        let found = attrs.iter().find(|a| a[0] as u16 == id)?;
        Some(self.view.str(found[1], found[2]))
    }

    /// The value of the attribute with this name, whether or not the table has it.
    pub fn attr_named(&self, name: &str) -> Option<&'a str> {
        match attr::id(name) {
            attr::UNKNOWN => self.attrs().find(|a| a.name() == name).map(|a| a.value()),
            id => self.attr(id),
        }
    }

    pub fn has_attr(&self, id: u16) -> bool {
        self.attr(id).is_some()
    }

    /// Whether the `class` attribute lists this class. Case counts.
    pub fn has_class(&self, class: &str) -> bool {
        self.attr(attr::CLASS)
            .is_some_and(|c| c.split_ascii_whitespace().any(|c| c == class))
    }
}

/// One attribute.
#[derive(Clone, Copy)]
pub struct Attr<'a> {
    view: View<'a>,
    record: [u32; ATTR_WORDS],
}

impl<'a> Attr<'a> {
    /// Its id, [`attr::UNKNOWN`] for names outside the table.
    pub fn id(&self) -> u16 {
        self.record[0] as u16
    }

    /// Its name with prefix, lower-case in HTML (`href`, `data-x`, `xlink:href`).
    pub fn name(&self) -> &'a str {
        match self.id() {
            attr::UNKNOWN => {
                let len = self.record[3];
                self.view.str(self.record[1].saturating_sub(len), len)
            }
            known => attr::name(known),
        }
    }

    pub fn value(&self) -> &'a str {
        self.view.str(self.record[1], self.record[2])
    }

    pub fn namespace(&self) -> Namespace {
        Namespace::from_bits(self.namespace_bits())
    }

    pub(crate) fn namespace_bits(&self) -> u32 {
        self.record[0] >> 16 & 0xff
    }
}
