//! CSS selectors over a view.

mod element;
mod grammar;
mod reason;

use std::fmt;
use std::str::FromStr;

use cssparser::ToCss;
use selectors::OpaqueElement;
use selectors::matching::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
    SelectorCaches, matches_selector_list,
};
use selectors::parser::{Component, ParseRelative, SelectorList};

use crate::names::tag;
use crate::node::Node;
use crate::view::View;
use crate::work::Work;
use element::Element;
use grammar::{Grammar, Names};
use reason::reason;

/// Longest stretch between commas and deepest nesting of parentheses that is parsed:
/// matching recurses once per combinator and once per level.
const MAX_COMPLEX_LEN: usize = 2048;
const MAX_NESTING: usize = 16;

/// A list of CSS selectors, compiled: `"h1, article > p:not(.note)"`.
///
/// Understands Selectors Level 4 as far as it makes sense in a page that nobody is looking at: type
/// and universal selectors (with the prefixes `html|`, `svg|`, `math|`, `*|`), ids, classes,
/// attributes, all combinators, `:is`, `:where`, `:not`, `:has`, `:root`, `:scope`, `:empty`, the
/// `:nth-…` family with `of`, `:link`, `:any-link`, `:checked`, `:disabled`, `:enabled`, `:required`
/// and `:optional`. Pseudo-elements and states of a live page (`:hover`) are errors.
///
/// Case is as in browsers: names of HTML elements and their attributes without regard to it,
/// classes and ids so only in quirks mode.
#[derive(Clone)]
pub struct Selector {
    list: SelectorList<Names>,
    /// The tag ids that its elements can have, one bit each; `None` if any.
    tags: Option<Box<[u64]>>,
    /// Its length as written, in bytes.
    len: usize,
}

impl Selector {
    /// Compiles a list of selectors.
    ///
    /// # Errors
    /// If it is none, or has more than 2048 bytes between two commas, or more than
    /// 16 parentheses inside one another.
    pub fn parse(selectors: &str) -> Result<Self, SelectorError> {
        check_size(selectors)?;
        let mut input = cssparser::Parser::new(selectors);
        let list = SelectorList::parse(&Grammar, &mut input, ParseRelative::No)
            .map_err(|error| SelectorError(reason(&error.kind)))?;
        Ok(Self {
            tags: subject_tags(&list),
            list,
            len: selectors.len(),
        })
    }

    fn may_match(&self, node: Node<'_>) -> bool {
        let id = usize::from(node.tag());
        node.is_element()
            && self.tags.as_ref().is_none_or(|bits| {
                bits.get(id / 64)
                    .is_some_and(|word| word >> (id % 64) & 1 == 1)
            })
    }

    fn matches(
        &self,
        node: Node<'_>,
        scope: Option<OpaqueElement>,
        caches: &mut SelectorCaches,
        work: &Work,
    ) -> bool {
        if !self.may_match(node) || !work.element() {
            return false;
        }
        let quirks = match node.view().quirks() {
            true => QuirksMode::Quirks,
            false => QuirksMode::NoQuirks,
        };
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            caches,
            quirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        context.scope_element = scope;
        matches_selector_list(&self.list, &Element::new(node, work), &mut context)
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::parse(s)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.to_css(f)
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selector({self})")
    }
}

/// Why a text is no selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(&'static str);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a selector: {}", self.0)
    }
}

impl std::error::Error for SelectorError {}

fn check_size(selectors: &str) -> Result<(), SelectorError> {
    let (mut nesting, mut len) = (0_usize, 0);
    for byte in selectors.bytes() {
        match byte {
            b'(' => nesting += 1,
            b')' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        len = if byte == b',' { 0 } else { len + 1 };
        if nesting > MAX_NESTING {
            return Err(SelectorError("it has more than 16 nested parentheses"));
        }
        if len > MAX_COMPLEX_LEN {
            return Err(SelectorError(
                "it has more than 2048 bytes between two commas",
            ));
        }
    }
    Ok(())
}

/// The tag ids that the subject of every selector of the list names, as bits.
fn subject_tags(list: &SelectorList<Names>) -> Option<Box<[u64]>> {
    let mut bits = vec![0_u64; tag::NAMES.len().div_ceil(64)];
    for selector in list.slice() {
        // `iter` walks the rightmost compound only.
        let name = selector.iter().find_map(|component| match component {
            Component::LocalName(name) => Some(name),
            _ => None,
        })?;
        // In HTML the lower-case name counts, in SVG the name as it stands.
        for id in [name.name.tag(), name.lower_name.tag()] {
            *bits.get_mut(usize::from(id) / 64)? |= 1 << (id % 64);
        }
    }
    Some(bits.into())
}

/// The nodes that a selector matches, in document order.
pub struct Select<'a, 's> {
    view: &'a View<'a>,
    next: u32,
    end: u32,
    scope: Option<OpaqueElement>,
    selector: &'s Selector,
    caches: SelectorCaches,
    work: Work,
}

impl Select<'_, '_> {
    /// Ends the search when it has done this much work; [`is_cut`](Self::is_cut) then says so.
    #[must_use]
    pub fn within(mut self, work: Work) -> Self {
        work.set_step(self.selector.len);
        self.work = work;
        self
    }

    /// Whether the search ended early, because its work was used up.
    pub fn is_cut(&self) -> bool {
        self.work.is_exhausted()
    }
}

impl<'a> Iterator for Select<'a, '_> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        while self.next < self.end {
            let node = self.view.node(self.next)?;
            self.next += 1;
            let (scope, caches) = (self.scope, &mut self.caches);
            let matches = self.selector.matches(node, scope, caches, &self.work);
            // The result of a search that ran out of work may be wrong.
            if self.work.is_exhausted() {
                return None;
            }
            if matches {
                return Some(node);
            }
        }
        None
    }
}

impl<'a> View<'a> {
    /// Every element that the selector matches, in document order.
    pub fn select<'s>(&'a self, selector: &'s Selector) -> Select<'a, 's> {
        Select {
            view: self,
            next: 0,
            end: self.len(),
            scope: None,
            selector,
            caches: SelectorCaches::default(),
            work: Work::units(u64::MAX),
        }
    }
}

impl<'a> Node<'a> {
    /// Every element below this node that the selector matches, in document order. As in
    /// `querySelectorAll`, the rest of the selector may match outside of it; `:scope` is
    /// this node.
    pub fn select<'s>(&self, selector: &'s Selector) -> Select<'a, 's> {
        Select {
            view: self.view(),
            next: self.id() + 1,
            end: self.end(),
            scope: self.is_element().then(|| element::opaque(*self)),
            selector,
            caches: SelectorCaches::default(),
            work: Work::units(u64::MAX),
        }
    }

    /// Whether the selector matches this node.
    pub fn matches(&self, selector: &Selector) -> bool {
        let work = Work::units(u64::MAX);
        selector.matches(*self, None, &mut SelectorCaches::default(), &work)
    }
}
