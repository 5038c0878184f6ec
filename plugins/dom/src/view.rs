//! Reading a snapshot: the document as a whole.

use crate::format::{
    ATTR_WORDS, FLAG_QUIRKS, FLAG_TRUNCATED, HEADER_WORDS, KIND_ELEMENT, MAGIC, NODE_WORDS, VERSION,
};
use crate::names::tag;
use crate::node::{Attr, Node};
use crate::snapshot::SnapshotError;

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
        Node::new(self, 0)
    }

    /// The number of nodes; ids are `0..len()`, in document order.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a snapshot always has its document node"
    )]
    #[inline]
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The node with this id.
    #[inline]
    pub fn node(&'a self, id: u32) -> Option<Node<'a>> {
        ((id as usize) < self.nodes.len()).then(|| Node::new(self, id))
    }

    /// Every node in document order.
    #[inline]
    pub fn nodes(&'a self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone {
        (0..self.len()).map(move |id| Node::new(self, id))
    }

    /// The elements whose tag id `is_wanted`, in document order. This looks at one word a node, so
    /// it is the fastest way to a few elements of a page.
    ///
    /// ```
    /// use orbweaver_dom::{View, tag};
    /// fn count_links(view: &View<'_>) -> usize {
    ///     view.tagged(|id| matches!(id, tag::A | tag::AREA)).count()
    /// }
    /// ```
    #[inline]
    pub fn tagged(
        &'a self,
        is_wanted: impl Fn(u16) -> bool + Clone,
    ) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone {
        let wanted = move |record: &[u32; NODE_WORDS]| {
            record[0] & 0xff == KIND_ELEMENT && is_wanted((record[0] >> 16) as u16)
        };
        (0..self.len())
            .zip(self.nodes)
            .filter(move |(_, record)| wanted(record))
            .map(move |(id, _)| Node::new(self, id))
    }

    /// Same as [`tagged`](Self::tagged), without what stands in a `template`: a script makes elements
    /// of it, until then it is no part of the document (HTML, section 4.12.3).
    pub fn tagged_outside_templates(
        &'a self,
        is_wanted: impl Fn(u16) -> bool + Clone,
    ) -> impl Iterator<Item = Node<'a>> {
        let mut end = 0;
        self.tagged(move |id| id == tag::TEMPLATE || is_wanted(id))
            .filter(move |node| {
                let is_inside = node.id() < end;
                if !is_inside && node.tag() == tag::TEMPLATE {
                    end = node.end();
                }
                node.id() >= end
            })
    }

    /// Every element in document order.
    pub fn elements(&'a self) -> impl DoubleEndedIterator<Item = Node<'a>> + Clone {
        self.root().elements()
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

    #[inline]
    pub(crate) fn str(&self, offset: u32, len: u32) -> &'a str {
        let start = offset as usize;
        self.text
            .get(start..start.saturating_add(len as usize))
            .unwrap_or("")
    }

    pub(crate) fn attr_at(&'a self, index: u32) -> Option<Attr<'a>> {
        let record = self.attrs.get(index as usize)?;
        Some(Attr::new(self, record))
    }
}
