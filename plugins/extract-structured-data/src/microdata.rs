//! Microdata, after the HTML standard, "Microdata": items, their properties, values, and
//! the JSON of section 5.4.

use std::collections::BTreeMap;

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::json::Writer;

use crate::Part;
use crate::values::{line, resolve, url_attribute};
use orbweaver_sdk::Budget;

/// Items inside items are followed to this depth; readers of JSON stop at 128 brackets,
/// and an item takes three.
const MAX_DEPTH: usize = 32;

/// Writes the top-level items.
pub fn write(page: &Page<'_>, items: &[Node<'_>], budget: &mut Budget, part: &mut Part) {
    let Some(first) = items.first() else { return };
    let mut reader = Reader {
        page,
        ids: Ids::default(),
        view: first.view(),
        budget,
        open: Vec::new(),
    };
    for item in items {
        part.item(|w| reader.item(*item, w));
    }
}

/// Names that one element can be the property of; its value is written once for each.
const MAX_NAMES: usize = 8;

struct Reader<'v, 'p> {
    page: &'p Page<'p>,
    view: &'v View<'v>,
    ids: Ids<'v>,
    budget: &'p mut Budget,
    /// The items around the current one, to find those that are inside themselves.
    open: Vec<u32>,
}

/// Elements by `id`, made when an `itemref` asks for it.
#[derive(Default)]
struct Ids<'v> {
    map: Option<BTreeMap<&'v str, Node<'v>>>,
}

impl<'v> Ids<'v> {
    fn get(&mut self, view: &'v View<'v>, id: &str) -> Option<Node<'v>> {
        let map = self.map.get_or_insert_with(|| {
            let mut map = BTreeMap::new();
            for node in view.nodes() {
                if let Some(id) = node.attr(attr::ID) {
                    map.entry(id).or_insert(node);
                }
            }
            map
        });
        map.get(id).copied()
    }
}

impl<'v> Reader<'v, '_> {
    /// Writes an item. Recursion is bounded by [`MAX_DEPTH`].
    fn item(&mut self, item: Node<'v>, w: &mut Writer) {
        self.open.push(item.id());
        w.begin_object();
        let types = item.attr(attr::ITEMTYPE).unwrap_or("");
        if !types.trim_ascii().is_empty() {
            w.key("type").array(|w| {
                for name in types.split_ascii_whitespace() {
                    w.string(name);
                }
            });
            // An id means something only by a type's vocabulary.
            if let Some(id) = item.attr(attr::ITEMID) {
                w.key("id").string(&resolve(self.page, id));
            }
        }
        w.key("properties").begin_object();
        for (name, elements) in self.properties(item) {
            w.key(name).begin_array();
            for element in elements {
                self.value(element, w);
            }
            w.end_array();
        }
        w.end_object();
        w.end_object();
        self.open.pop();
    }

    fn value(&mut self, element: Node<'v>, w: &mut Writer) {
        if element.has_attr(attr::ITEMSCOPE) {
            if self.open.contains(&element.id()) || self.open.len() >= MAX_DEPTH {
                // The standard's word for an item inside itself.
                w.string("ERROR");
            } else {
                self.item(element, w);
            }
            return;
        }
        // `content` counts on any element: the standard knows it on `meta` alone, but
        // search engines' documentation puts it on `span`, and pages follow.
        let url = url_attribute(element);
        let literal = match element.tag() {
            tag::DATA | tag::METER => element.attr(attr::VALUE),
            tag::TIME => element.attr(attr::DATETIME),
            _ => None,
        };
        match (url, literal.or_else(|| element.attr(attr::CONTENT))) {
            (Some(url), _) => w.string(&resolve(self.page, url)),
            (None, Some(literal)) => w.string(literal.trim()),
            (None, None) => w.string(&line(element, self.budget)),
        };
    }

    /// The elements of an item's properties by name, both in tree order.
    fn properties(&mut self, item: Node<'v>) -> Vec<(&'v str, Vec<Node<'v>>)> {
        let mut elements = Vec::new();
        self.crawl(item, false, &mut elements);
        let references = item.attr(attr::ITEMREF).unwrap_or("");
        if !references.is_empty() {
            for id in references.split_ascii_whitespace() {
                if let Some(element) = self.ids.get(self.view, id) {
                    self.crawl(element, true, &mut elements);
                }
            }
            elements.sort_by_key(Node::id);
            elements.dedup();
        }
        let mut places = BTreeMap::new();
        let mut grouped: Vec<(&str, Vec<Node<'_>>)> = Vec::new();
        for element in elements {
            let names = element.attr(attr::ITEMPROP).unwrap_or("");
            for name in names.split_ascii_whitespace().take(MAX_NAMES) {
                let place = *places.entry(name).or_insert_with(|| {
                    grouped.push((name, Vec::new()));
                    grouped.len() - 1
                });
                if let Some((_, list)) = grouped.get_mut(place)
                    && list.last() != Some(&element)
                {
                    list.push(element);
                }
            }
        }
        grouped
    }

    /// Collects the elements with an `itemprop` below `root` (and `root`, for one that is
    /// referred to), not entering other items.
    fn crawl(&mut self, root: Node<'v>, itself: bool, elements: &mut Vec<Node<'v>>) {
        let mut next = if itself { root.id() } else { root.id() + 1 };
        while next < root.end() {
            let Some(node) = self.view.node(next) else {
                return;
            };
            next += 1;
            if !node.is_element() {
                continue;
            }
            if !self.budget.spend(1) {
                return;
            }
            if node
                .attr(attr::ITEMPROP)
                .is_some_and(|names| !names.trim_ascii().is_empty())
            {
                elements.push(node);
            }
            if node.has_attr(attr::ITEMSCOPE) {
                next = node.end();
            }
        }
    }
}
