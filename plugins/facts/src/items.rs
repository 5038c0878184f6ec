//! Whose properties the Microdata of a page states: the page's own, or those of what others say
//! about it.

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::head::Head;

/// Microdata items of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Items {
    /// The first heading of the first level.
    heading: Option<u32>,
}

impl Items {
    /// The items of a document.
    pub fn of(view: &View<'_>) -> Self {
        Self {
            heading: view.tagged(|id| id == tag::H1).next().map(|h1| h1.id()),
        }
    }

    /// The first heading of the first level.
    pub fn heading(self) -> Option<u32> {
        self.heading
    }

    /// Whether a property belongs to what others say about the page's subject: comments and
    /// reviews have authors and dates of their own. So has what stands inside of them. A page may
    /// be a review itself, which then has the page's heading.
    pub fn answers(self, property: Node<'_>) -> bool {
        items(property).any(|item| {
            let is_page = || {
                let heading = self
                    .heading
                    .is_some_and(|h1| item.id() < h1 && h1 < item.end());
                heading && !item.has_attr(attr::ITEMPROP)
            };
            is_of(item, &["Comment", "UserComments", "Answer"])
                || is_of(item, &["Review"]) && !is_page()
        })
    }

    /// The item that has a property, as its first node and its end; the inner `None` where there is no
    /// item around it. `None` where the item is a part of another one, or somebody.
    pub fn owner_of_content(self, property: Node<'_>) -> Option<Option<(u32, u32)>> {
        if self.answers(property) || is_of_somebody(property) {
            return None;
        }
        let Some(item) = items(property).next() else {
            return Some(None);
        };
        let is_main = item.attr(attr::ITEMPROP).is_none_or(|of| {
            of.eq_ignore_ascii_case("mainEntity") || of.eq_ignore_ascii_case("mainContentOfPage")
        });
        let is_person = is_of(item, &["Person", "Organization"]);
        (is_main && !is_person).then(|| Some((item.id(), item.end())))
    }

    /// Whether the page's heading is among these nodes.
    pub fn has_heading(self, from: u32, to: u32) -> bool {
        self.heading.is_some_and(|h1| from < h1 && h1 < to)
    }

    /// Whether several items beside each other have metas with these names, and none of them has the
    /// page's heading: teasers of other pages.
    fn is_list(self, head: &Head<'_>, names: &[&str]) -> bool {
        /// Metas that are looked at, and items of a list.
        const MOST: usize = 16;
        const LEAST: usize = 3;
        let mut count = 0;
        let mut end = 0;
        for meta in head.named(names).take(MOST) {
            let Some(item) = items(meta.node).next() else {
                return false;
            };
            if self.has_heading(item.id(), item.end()) {
                return false;
            }
            count += usize::from(item.id() >= end);
            end = end.max(item.end());
        }
        count >= LEAST
    }

    /// Contents of the metas with these names, trimmed, in document order: the page's own, or,
    /// where there are none, those of items that are no comment, review, person or organisation.
    pub fn metas<'s, 'p>(
        self,
        head: &'s Head<'p>,
        names: &'s [&str],
    ) -> impl Iterator<Item = &'p str> + 's {
        let has_own = head.all(names).next().is_some();
        let is_list = !has_own && self.is_list(head, names);
        head.named(names)
            .filter(move |meta| {
                if has_own {
                    !meta.is_of_item()
                } else {
                    !is_list && !self.answers(meta.node) && !is_of_somebody(meta.node)
                }
            })
            .map(|meta| meta.content.trim())
    }
}

/// Whether an element is a comment or an answer: what others say, with an author and a date of its own.
pub fn is_answer(item: Node<'_>) -> bool {
    item.has_attr(attr::ITEMSCOPE) && is_of(item, &["Comment", "UserComments", "Answer"])
}

/// Whether a property is that of a person or an organisation that another item names.
fn is_of_somebody(property: Node<'_>) -> bool {
    items(property).next().is_some_and(|item| {
        item.has_attr(attr::ITEMPROP) && is_of(item, &["Person", "Organization"])
    })
}

/// The items around a property, from the inside.
fn items(property: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    /// An item is near its properties.
    const LEVELS: usize = 32;
    property
        .ancestors()
        .take(LEVELS)
        .filter(|around| around.has_attr(attr::ITEMSCOPE))
}

/// Whether one of an item's types ends with one of these names.
fn is_of(item: Node<'_>, names: &[&str]) -> bool {
    /// Each of an item's properties asks for them again.
    const MAX_BYTES: usize = 256;
    let types = item.attr(attr::ITEMTYPE).unwrap_or("");
    let read = types.floor_char_boundary(MAX_BYTES);
    types
        .get(..read)
        .unwrap_or("")
        .split_ascii_whitespace()
        .any(|kind| names.iter().any(|name| kind.ends_with(name)))
}
