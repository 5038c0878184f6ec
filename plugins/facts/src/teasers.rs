//! Teasers of other pages: the items of a listing, and what stands behind a text as "More posts". Each
//! has an author and a date of its own.

use std::cell::OnceCell;

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::urls::Base;

use crate::Sources;
use crate::marks::has;
use crate::own;
use crate::profile::leads_to_profile;

/// Elements around a property or a heading.
const LEVELS: usize = 24;
/// Nodes at the beginning of an item among which its heading stands.
const BEGINNING: u32 = 60;
/// Nodes of an item that says nothing of itself: larger ones are parts of the page's layout.
const MAX_NODES: u32 = 300;

/// Tells teasers from the page's own content.
#[derive(Default)]
pub struct Teasers<'s> {
    /// `None` where there is no page that links could leave.
    sources: Option<&'s Sources<'s>>,
    /// The page's heading.
    heading: Option<u32>,
    /// The base of links and the page's own addresses. Most pages need none.
    own: OnceCell<(Option<Base>, Vec<String>)>,
    /// The end of the last teaser that held a property.
    end: u32,
    /// Properties that were looked at.
    asked: u32,
}

impl<'s> Teasers<'s> {
    /// Of a page with this heading.
    pub fn of(sources: &'s Sources<'s>, heading: Option<u32>) -> Self {
        Self {
            sources: Some(sources),
            heading,
            ..Self::default()
        }
    }

    /// Whether an element is a teaser: an item with a heading of its own that leads to another page,
    /// beside one of the same kind.
    pub fn is_teaser(&self, node: Node<'_>) -> bool {
        /// Elements before and behind it that are looked at: advertisements may stand between.
        const NEAR: usize = 3;
        if self.is_beside_own_article(node) {
            return true;
        }
        if !self.leads_away(node) {
            return false;
        }
        let alike = |other: &Node<'_>| is_alike(node, *other) && self.leads_away(*other);
        let behind = std::iter::successors(node.next_sibling(), Node::next_sibling);
        let before = std::iter::successors(node.prev_sibling(), Node::prev_sibling);
        // White space stands between elements.
        let near = |node: &Node<'_>| node.is_element();
        behind
            .take(2 * NEAR)
            .filter(near)
            .any(|other| alike(&other))
            || before
                .take(2 * NEAR)
                .filter(near)
                .any(|other| alike(&other))
    }

    /// Whether a property stands in a teaser. Properties are asked for in the order of the document.
    pub fn holds(&mut self, property: Node<'_>) -> bool {
        /// Properties of one page that are looked at. One with more teasers is a listing.
        const MOST: u32 = 64;
        if property.id() < self.end {
            return true;
        }
        if self.asked >= MOST {
            return true;
        }
        self.asked += 1;
        let mut around = property.ancestors().take(LEVELS);
        let teaser = around.find(|node| self.is_teaser(*node));
        self.end = teaser.map_or(self.end, |teaser| teaser.end());
        teaser.is_some()
    }

    /// Whether an element is a small `article` with a heading of its own, apart from the one that holds
    /// the page's heading.
    fn is_beside_own_article(&self, node: Node<'_>) -> bool {
        if node.tag() != tag::ARTICLE || node.end() - node.id() > MAX_NODES {
            return false;
        }
        let view = node.view();
        let heading = self.heading.and_then(|id| view.node(id));
        let Some(heading) = heading.filter(|heading| !node.contains(*heading)) else {
            return false;
        };
        let mut around = heading.ancestors().take(LEVELS);
        let own = around.find(|node| node.tag() == tag::ARTICLE);
        let is_heading = |n: Node<'_>| matches!(n.tag(), tag::H2 | tag::H3 | tag::H4);
        own.is_some_and(|own| !own.contains(node))
            && node.descendants().take(BEGINNING as usize).any(is_heading)
    }

    /// Whether an element is an item whose first heading leads to another page.
    fn leads_away(&self, node: Node<'_>) -> bool {
        /// Nodes of a heading among which its link stands.
        const NEAR: usize = 12;
        let is_item = match node.tag() {
            tag::ARTICLE => true,
            tag::LI | tag::DIV | tag::SECTION => {
                node.end() - node.id() <= MAX_NODES || node.has_class("hentry")
            }
            _ => false,
        };
        let is_own = |heading: u32| (node.id()..node.end()).contains(&heading);
        if !is_item || self.heading.is_some_and(is_own) {
            return false;
        }
        let view = node.view();
        let end = node.end().min(node.id() + BEGINNING);
        let mut link = None;
        for inner in (node.id() + 1..end).filter_map(|id| view.node(id)) {
            match inner.tag() {
                tag::A => link = Some(inner),
                tag::H2 | tag::H3 | tag::H4 => {
                    let around = link.filter(|link| link.contains(inner));
                    let within = || inner.descendants().take(NEAR).find(|n| n.tag() == tag::A);
                    return around
                        .or_else(within)
                        .is_some_and(|a| self.is_other_page(a));
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a link leads to another page, and not to a person.
    fn is_other_page(&self, link: Node<'_>) -> bool {
        let (Some(sources), Some(href)) = (self.sources, link.attr(attr::HREF)) else {
            return false;
        };
        // A part of a page, as forums link their posts.
        if href
            .split_once('#')
            .is_some_and(|(_, part)| !part.is_empty())
        {
            return false;
        }
        let (base, own) = self.own.get_or_init(|| own::addresses(sources));
        let key = base.as_ref().and_then(|base| own::key(base, href));
        key.is_some_and(|key| !own.contains(&key))
            && !leads_to_profile(link)
            && !has(link, attr::REL, "author")
    }
}

/// Whether two elements are of one kind: the same element with a class in common, or without any.
fn is_alike(node: Node<'_>, other: Node<'_>) -> bool {
    let classes = |node: Node<'_>| node.attr(attr::CLASS).unwrap_or("").trim().len();
    let common = || {
        let own = node.attr(attr::CLASS).unwrap_or("");
        let mut own = own.split_ascii_whitespace().take(8);
        own.any(|class| other.has_class(class))
    };
    let both_without = classes(node) == 0 && classes(other) == 0;
    node.tag() == other.tag() && (both_without || common())
}
