//! The stack of open elements: <https://html.spec.whatwg.org/multipage/parsing.html#the-stack-of-open-elements>.

use super::super::names::Name;
use super::class;
use crate::names::tag;

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Open {
    /// Its node.
    pub(in super::super) node: u32,
    /// Its name as tags have it: in lower case, in SVG, too.
    pub(in super::super) name: Name,
    /// What it is: bits of [`class`].
    pub(super) class: u32,
}

impl Open {
    /// The document, which stands for the current node where no element is open.
    pub(in super::super) const DOCUMENT: Self = Self {
        node: 0,
        name: Name::NONE,
        class: 0,
    };

    /// Whether it is in one of these classes.
    #[inline]
    pub(super) fn is(&self, class: u32) -> bool {
        self.class & class != 0
    }

    /// Whether it is SVG or MathML.
    pub(in super::super) fn is_foreign(&self) -> bool {
        self.is(class::SVG | class::MATHML)
    }

    /// Whether it is an HTML element of this name.
    #[inline]
    pub(super) fn is_html(&self, name: Name) -> bool {
        self.name == name && self.is(class::HTML)
    }

    /// [`is_html`](Self::is_html) with a name of the table.
    #[inline]
    pub(super) fn is_tag(&self, tag: u16) -> bool {
        self.is_html(Name::of(tag))
    }
}

/// The open elements, the innermost last.
#[derive(Default)]
pub(super) struct Stack(Vec<Open>);

impl Stack {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Open> {
        self.0.iter()
    }

    /// The current node.
    #[inline]
    pub(super) fn current(&self) -> Open {
        self.0.last().copied().unwrap_or(Open::DOCUMENT)
    }

    /// The `<html>` element, which is the outermost.
    pub(super) fn html(&self) -> Open {
        self.get(0)
    }

    /// The second element, if it is `<body>`.
    pub(super) fn body(&self) -> Option<Open> {
        self.0.get(1).filter(|e| e.is_tag(tag::BODY)).copied()
    }

    /// An element by its distance from the outermost one.
    pub(super) fn get(&self, index: usize) -> Open {
        self.0.get(index).copied().unwrap_or(Open::DOCUMENT)
    }

    #[inline]
    pub(super) fn push(&mut self, element: Open) {
        self.0.push(element);
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(super) fn insert(&mut self, index: usize, element: Open) {
        self.0.insert(index.min(self.0.len()), element);
    }

    pub(super) fn replace(&mut self, index: usize, element: Open) {
        if let Some(open) = self.0.get_mut(index) {
            *open = element;
        }
    }

    pub(super) fn remove(&mut self, index: usize) {
        if index < self.0.len() {
            self.0.remove(index);
        }
    }

    /// Where a node is, from the innermost on.
    pub(super) fn position(&self, node: u32) -> Option<usize> {
        self.0.iter().rposition(|open| open.node == node)
    }

    pub(super) fn remove_node(&mut self, node: u32) {
        if let Some(index) = self.position(node) {
            self.0.remove(index);
        }
    }

    /// Whether any element is this one of HTML, in whatever scope.
    pub(super) fn has(&self, tag: u16) -> bool {
        self.0.iter().any(|open| open.is_tag(tag))
    }

    /// Whether there is such an element before one that ends the scope.
    #[inline]
    pub(super) fn has_in(&self, scope: u32, is_it: impl Fn(&Open) -> bool) -> bool {
        for open in self.0.iter().rev() {
            if is_it(open) {
                return true;
            }
            if open.is(scope) {
                return false;
            }
        }
        false
    }

    /// Whether this HTML element is in the usual scope.
    #[inline]
    pub(super) fn has_in_scope(&self, tag: u16) -> bool {
        self.has_in(class::SCOPE, |open| open.is_tag(tag))
    }

    #[inline]
    pub(super) fn has_in_button_scope(&self, tag: u16) -> bool {
        self.has_in(class::SCOPE | class::BUTTON_SCOPE, |open| open.is_tag(tag))
    }

    pub(super) fn has_in_list_scope(&self, tag: u16) -> bool {
        self.has_in(class::SCOPE | class::LIST_SCOPE, |open| open.is_tag(tag))
    }

    pub(super) fn has_in_table_scope(&self, tag: u16) -> bool {
        self.has_in(class::TABLE_SCOPE, |open| open.is_tag(tag))
    }

    /// Pops elements whose end tags are implied.
    pub(super) fn imply_end_tags(&mut self) {
        self.imply_end_tags_of(class::IMPLIED_END);
    }

    pub(super) fn imply_end_tags_of(&mut self, class: u32) {
        while self.current().is(class) {
            self.0.pop();
        }
    }

    /// [`imply_end_tags`](Self::imply_end_tags) up to an element of this name.
    pub(super) fn imply_end_tags_except(&mut self, name: Name) {
        while self
            .0
            .last()
            .is_some_and(|open| open.is(class::IMPLIED_END) && !open.is_html(name))
        {
            self.0.pop();
        }
    }

    /// Pops elements until the current one is in a class.
    pub(super) fn pop_to(&mut self, class: u32) {
        while self.0.last().is_some_and(|open| !open.is(class)) {
            self.0.pop();
        }
    }

    /// Pops elements until such a one has been popped.
    pub(super) fn pop_through(&mut self, is_it: impl Fn(&Open) -> bool) {
        while self.0.pop().is_some_and(|open| !is_it(&open)) {}
    }

    pub(super) fn pop_through_tag(&mut self, tag: u16) {
        self.pop_through(|open| open.is_tag(tag));
    }

    /// Pops `<p>` and what is in it.
    pub(super) fn close_p(&mut self) {
        self.imply_end_tags_except(Name::of(tag::P));
        self.pop_through_tag(tag::P);
    }

    /// [`close_p`](Self::close_p), if one is open here.
    #[inline]
    pub(super) fn close_p_in_button_scope(&mut self) {
        if self.has_in_button_scope(tag::P) {
            self.close_p();
        }
    }
}
