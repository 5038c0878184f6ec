//! The visible text in pieces, as the elements divide it.

use super::{is_block, is_hidden};
use crate::{Node, tag};

/// A piece of the visible text, in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The text of one text node, white space as in the source.
    Text(&'a str),
    /// A block starts or ends, or a `<br>`: the texts around it are on different lines.
    Break,
}

/// The visible text below `node`, or of `node` itself if it is a text. One pass without recursion.
/// Elements that are hidden by what they are are left out, except `node` itself.
pub fn pieces<'a>(node: Node<'a>) -> Pieces<'a> {
    pieces_but(node, ByTag)
}

/// Same as [`pieces`], without the elements that `hides` names, too.
pub fn pieces_but<'a, H: Hides<'a>>(node: Node<'a>, hides: H) -> Pieces<'a, H> {
    Pieces {
        view_end: node.end(),
        start: node,
        next: node.id(),
        closes: Vec::new(),
        hides,
    }
}

/// Says which elements are hidden besides those that are so by their tag.
pub trait Hides<'a> {
    /// Whether this element is hidden, and all that is in it.
    fn hides(&self, element: Node<'a>) -> bool;
}

impl<'a, F: Fn(Node<'a>) -> bool> Hides<'a> for F {
    fn hides(&self, element: Node<'a>) -> bool {
        self(element)
    }
}

/// Nothing is hidden but by its tag.
#[derive(Clone, Copy, Debug)]
pub struct ByTag;

impl<'a> Hides<'a> for ByTag {
    fn hides(&self, _element: Node<'a>) -> bool {
        false
    }
}

/// See [`pieces`].
pub struct Pieces<'a, H = ByTag> {
    start: Node<'a>,
    next: u32,
    view_end: u32,
    /// Ends of the open blocks, innermost last.
    closes: Vec<u32>,
    hides: H,
}

impl<'a, H: Hides<'a>> Iterator for Pieces<'a, H> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while self.next < self.view_end {
            if self.closes.last().is_some_and(|&end| end <= self.next) {
                self.closes.pop();
                return Some(Piece::Break);
            }
            let node = self.start.view().node(self.next)?;
            self.next += 1;
            if node.is_text() {
                return Some(Piece::Text(node.text()));
            }
            let tag = node.tag();
            if tag == tag::BR {
                return Some(Piece::Break);
            }
            if node != self.start && (is_hidden(tag) || self.hides.hides(node)) {
                self.next = node.end();
            } else if is_block(tag) {
                self.closes.push(node.end());
                return Some(Piece::Break);
            }
        }
        None
    }
}
