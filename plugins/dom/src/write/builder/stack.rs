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
pub(super) struct Stack {
    open: Vec<Open>,
    /// How many of them are `<p>`. Most tags ask for one, and mostly there is none.
    paragraphs: u32,
}

impl Stack {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Open> {
        self.open.iter()
    }

    /// The current node.
    #[inline]
    pub(super) fn current(&self) -> Open {
        self.open.last().copied().unwrap_or(Open::DOCUMENT)
    }

    /// The `<html>` element, which is the outermost.
    pub(super) fn html(&self) -> Open {
        self.get(0)
    }

    /// The second element, if it is `<body>`.
    pub(super) fn body(&self) -> Option<Open> {
        self.open.get(1).filter(|e| e.is_tag(tag::BODY)).copied()
    }

    /// An element by its distance from the outermost one.
    pub(super) fn get(&self, index: usize) -> Open {
        self.open.get(index).copied().unwrap_or(Open::DOCUMENT)
    }

    #[inline]
    pub(super) fn push(&mut self, element: Open) {
        self.paragraphs += u32::from(element.is_tag(tag::P));
        self.open.push(element);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Open> {
        let element = self.open.pop()?;
        self.paragraphs -= u32::from(element.is_tag(tag::P));
        Some(element)
    }

    pub(super) fn truncate(&mut self, len: usize) {
        while self.open.len() > len {
            self.pop();
        }
    }

    /// Inserts a formatting element.
    pub(super) fn insert(&mut self, index: usize, element: Open) {
        self.open.insert(index.min(self.open.len()), element);
    }

    /// Puts a formatting element in place of another one.
    pub(super) fn replace(&mut self, index: usize, element: Open) {
        if let Some(open) = self.open.get_mut(index) {
            *open = element;
        }
    }

    pub(super) fn remove(&mut self, index: usize) {
        if index < self.open.len() {
            let element = self.open.remove(index);
            self.paragraphs -= u32::from(element.is_tag(tag::P));
        }
    }

    /// Where a node is, from the innermost on.
    #[inline]
    pub(super) fn position(&self, node: u32) -> Option<usize> {
        self.open.iter().rposition(|open| open.node == node)
    }

    pub(super) fn remove_node(&mut self, node: u32) {
        if let Some(index) = self.position(node) {
            self.remove(index);
        }
    }

    /// Whether any element is this one of HTML, in whatever scope.
    pub(super) fn has(&self, tag: u16) -> bool {
        self.open.iter().any(|open| open.is_tag(tag))
    }

    /// Whether there is such an element before one that ends the scope.
    #[inline]
    pub(super) fn has_in(&self, scope: u32, is_it: impl Fn(&Open) -> bool) -> bool {
        for open in self.open.iter().rev() {
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
    pub(super) fn has_p_in_button_scope(&self) -> bool {
        let scope = class::SCOPE | class::BUTTON_SCOPE;
        self.paragraphs > 0 && self.has_in(scope, |open| open.is_tag(tag::P))
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

    /// Pops elements of a class.
    pub(super) fn imply_end_tags_of(&mut self, class: u32) {
        while self.current().is(class) {
            self.pop();
        }
    }

    /// [`imply_end_tags`](Self::imply_end_tags) up to an element of this name.
    pub(super) fn imply_end_tags_except(&mut self, name: Name) {
        while self.current().is(class::IMPLIED_END) && !self.current().is_html(name) {
            self.pop();
        }
    }

    /// Pops elements until the current one is in a class.
    pub(super) fn pop_to(&mut self, class: u32) {
        while self.open.last().is_some_and(|open| !open.is(class)) {
            self.pop();
        }
    }

    /// Pops elements until such a one has been popped.
    pub(super) fn pop_through(&mut self, is_it: impl Fn(&Open) -> bool) {
        while self.pop().is_some_and(|open| !is_it(&open)) {}
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
        if self.has_p_in_button_scope() {
            self.close_p();
        }
    }
}
