//! Reading a snapshot: nodes and attributes.

use std::fmt;

use crate::format::{
    ATTR_WORDS, KIND_COMMENT, KIND_DOCTYPE, KIND_DOCUMENT, KIND_ELEMENT, KIND_TEXT, NODE_WORDS,
    NONE, NS_HTML, NS_MATHML, NS_SVG, NS_XLINK, NS_XML, NS_XMLNS,
};
use crate::names::{attr, tag};
use crate::view::View;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The document itself, node 0.
    Document,
    /// An element.
    Element,
    /// A text.
    Text,
    /// A comment.
    Comment,
    /// The doctype; its text is its name.
    Doctype,
}

/// The namespace of an element or attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// For an element HTML; for an attribute none.
    Html,
    /// `http://www.w3.org/2000/svg`
    Svg,
    /// `http://www.w3.org/1998/Math/MathML`
    MathMl,
    /// `http://www.w3.org/1999/xlink`, of attributes.
    XLink,
    /// `http://www.w3.org/XML/1998/namespace`, of attributes.
    Xml,
    /// `http://www.w3.org/2000/xmlns/`, of attributes.
    Xmlns,
    /// None of these.
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
    /// The node with this id, which the view has.
    #[inline]
    pub(crate) fn new(view: &'a View<'a>, id: u32) -> Self {
        Self { view, id }
    }

    #[inline]
    pub(crate) fn record(&self) -> &'a [u32; NODE_WORDS] {
        const EMPTY: [u32; NODE_WORDS] = [KIND_COMMENT, NONE, 0, NONE, 0, 0];
        self.view.nodes.get(self.id as usize).unwrap_or(&EMPTY)
    }

    /// The view this node is of.
    #[inline]
    pub fn view(&self) -> &'a View<'a> {
        self.view
    }

    /// Its number: its place in document order.
    #[inline]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What it is.
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

    /// Whether it is an element.
    #[inline]
    pub fn is_element(&self) -> bool {
        self.record()[0] & 0xff == KIND_ELEMENT
    }

    /// Whether it is a text.
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

    /// The element or document it is in; `None` for the document.
    #[inline]
    pub fn parent(&self) -> Option<Node<'a>> {
        let parent = self.record()[1];
        (parent < self.id).then_some(Node {
            view: self.view,
            id: parent,
        })
    }

    /// Its first child.
    #[inline]
    pub fn first_child(&self) -> Option<Node<'a>> {
        (self.end() > self.id + 1).then_some(Node {
            view: self.view,
            id: self.id + 1,
        })
    }

    /// The next child of its parent.
    #[inline]
    pub fn next_sibling(&self) -> Option<Node<'a>> {
        let end = self.end();
        (end < self.parent()?.end()).then_some(Node {
            view: self.view,
            id: end,
        })
    }

    /// The previous child of its parent.
    #[inline]
    pub fn prev_sibling(&self) -> Option<Node<'a>> {
        let prev = self.record()[3];
        (prev < self.id).then_some(Node {
            view: self.view,
            id: prev,
        })
    }

    /// Direct children, in order.
    #[inline]
    pub fn children(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        let view = self.view;
        let end = self.end();
        let mut next = self.id + 1;
        // A child's end is the next child's id, and always greater than its own.
        std::iter::from_fn(move || {
            let child = (next < end).then_some(Node { view, id: next })?;
            next = child.end();
            Some(child)
        })
    }

    /// Direct children that are elements, in order.
    #[inline]
    pub fn child_elements(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        self.children().filter(Node::is_element)
    }

    /// Parent, its parent, and so on up to the document.
    #[inline]
    pub fn ancestors(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        std::iter::successors(self.parent(), Node::parent)
    }

    /// Every node below this one, in document order.
    #[inline]
    pub fn descendants(&self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone + use<'a> {
        let view = self.view;
        (self.id + 1..self.end()).map(move |id| Node { view, id })
    }

    /// Every element below this node, in document order.
    #[inline]
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone + use<'a> {
        self.below(KIND_ELEMENT).map(|(node, _)| node)
    }

    /// The texts below this node, in document order, without copying them: the pieces of
    /// [`text_content`](Self::text_content). A text node's own text, if this is one.
    pub fn text_runs(&self) -> impl DoubleEndedIterator<Item = &'a str> + Clone + use<'a> {
        let view = self.view;
        let own = self.is_text().then(|| self.text());
        own.into_iter().chain(
            self.below(KIND_TEXT)
                .map(|(_, record)| view.str(record[4], record[5])),
        )
    }

    /// Nodes of a kind below this one, with their records.
    fn below(
        &self,
        kind: u32,
    ) -> impl DoubleEndedIterator<Item = (Node<'a>, &'a [u32; NODE_WORDS])> + Clone + use<'a> {
        let view = self.view;
        let start = self.id + 1;
        let records = view
            .nodes
            .get(start as usize..self.end() as usize)
            .unwrap_or_default();
        (start..self.end())
            .zip(records)
            .filter(move |(_, record)| record[0] & 0xff == kind)
            .map(move |(id, record)| (Node { view, id }, record))
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
        for text in self.text_runs() {
            out.push_str(text);
        }
    }

    /// Attributes in source order.
    #[inline]
    pub fn attrs(
        &self,
    ) -> impl DoubleEndedIterator<Item = Attr<'a>> + ExactSizeIterator + Clone + use<'a> {
        let view = self.view;
        self.attr_records()
            .iter()
            .map(move |record| Attr { view, record })
    }

    #[inline]
    fn attr_records(&self) -> &'a [[u32; ATTR_WORDS]] {
        let record = self.record();
        if record[0] & 0xff != KIND_ELEMENT {
            return &[];
        }
        let first = record[4] as usize;
        let range = first..first.saturating_add(record[5] as usize);
        self.view.attrs.get(range).unwrap_or_default()
    }

    /// The value of the attribute with this id (see [`attr`](mod@crate::attr)).
    #[inline]
    pub fn attr(&self, id: u16) -> Option<&'a str> {
        if id == attr::UNKNOWN {
            return None;
        }
        let found = self.attr_records().iter().find(|a| a[0] as u16 == id)?;
        Some(self.view.str(found[1], found[2]))
    }

    /// The value of the attribute with this name, whether or not the table has it.
    pub fn attr_named(&self, name: &str) -> Option<&'a str> {
        match attr::id(name) {
            attr::UNKNOWN => self.attrs().find(|a| a.name() == name).map(|a| a.value()),
            id => self.attr(id),
        }
    }

    /// Whether it has the attribute with this id.
    #[inline]
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
    view: &'a View<'a>,
    record: &'a [u32; ATTR_WORDS],
}

impl<'a> Attr<'a> {
    pub(crate) fn new(view: &'a View<'a>, record: &'a [u32; ATTR_WORDS]) -> Self {
        Self { view, record }
    }

    /// Its id, [`attr::UNKNOWN`] for names outside the table.
    #[inline]
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

    /// Its value, character references decoded.
    #[inline]
    pub fn value(&self) -> &'a str {
        self.view.str(self.record[1], self.record[2])
    }

    /// Its namespace; [`Namespace::Html`] for none.
    pub fn namespace(&self) -> Namespace {
        Namespace::from_bits(self.namespace_bits())
    }

    pub(crate) fn namespace_bits(&self) -> u32 {
        self.record[0] >> 16 & 0xff
    }
}
