//! Microformats 2, after the microformats2 parsing specification: items, properties of the
//! four kinds, nested items, implied name, photo and URL, the value class pattern, and the
//! classic microformats that pages still carry.

mod classic;
mod implied;
mod property;

use std::collections::BTreeMap;

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Node, View, attr};
use orbweaver_sdk::json::Writer;

use crate::Part;
use orbweaver_sdk::Budget;

use classic::Vocabulary;
pub use property::inner;
use property::{Kind, Value};

/// The vocabularies of microformats.org. Any other `h-` class counts as a style: utility
/// frameworks have hundreds (`h-full`, `h-screen`).
const VOCABULARIES: &[&str] = &[
    "h-adr",
    "h-app",
    "h-breadcrumb",
    "h-card",
    "h-cite",
    "h-entry",
    "h-event",
    "h-feed",
    "h-geo",
    "h-item",
    "h-listing",
    "h-measure",
    "h-news",
    "h-product",
    "h-recipe",
    "h-resume",
    "h-review",
    "h-review-aggregate",
];

/// Items inside items are written to this depth; readers of JSON stop at 128 brackets, and
/// an item takes three.
const MAX_DEPTH: usize = 32;

/// Names that one element can be the property of; its value is written once for each.
const MAX_NAMES: usize = 8;

/// The classes that make an element an item: those of [`VOCABULARIES`], and experiments
/// (`h-x-…`).
pub fn roots(class: &str) -> impl Iterator<Item = &str> {
    class.split_ascii_whitespace().filter(|token| {
        token.starts_with("h-") && (VOCABULARIES.contains(token) || token.starts_with("h-x-"))
    })
}

/// Whether a class attribute may make its element an item, new or classic: a quick look at
/// the first letters of its tokens, then at the tokens.
pub fn is_root(class: &str) -> bool {
    let mut before = b' ';
    let begins = class.bytes().any(|byte| {
        let token = before.is_ascii_whitespace();
        before = byte;
        token && matches!(byte, b'h' | b'v' | b'a' | b'g')
    });
    begins && (roots(class).next().is_some() || classic::root(class).is_some())
}

/// The properties that an element's classes name, with their kinds.
fn properties(class: &str) -> impl Iterator<Item = (Kind, &str)> {
    class.split_ascii_whitespace().filter_map(|token| {
        let (prefix, name) = token.split_once('-')?;
        let kind = match prefix {
            "p" => Kind::Text,
            "u" => Kind::Url,
            "dt" => Kind::Time,
            "e" => Kind::Markup,
            _ => return None,
        };
        // Words of small letters between hyphens; not `p-4` or `u-mb-2`.
        let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase());
        name.split('-').all(word).then_some((kind, name))
    })
}

/// Writes the items that are inside no other.
pub fn write(page: &Page<'_>, view: &View<'_>, budget: &mut Budget, part: &mut Part) {
    let items = Items::of(page, view, budget);
    let mut repeats = Repeats {
        written: vec![false; items.all.len()],
        budget,
    };
    for (index, item) in items.all.iter().enumerate() {
        // Themes put `hentry` on whatever they lay out like one.
        let says = item.classic.is_none() || item.has_items || !item.properties.is_empty();
        if item.top && says {
            part.item(|w| items.write(index, None, 1, &mut repeats, w));
        }
    }
}

/// One item.
struct Item<'v> {
    node: Node<'v>,
    /// The vocabulary of a classic microformat.
    classic: Option<&'static Vocabulary>,
    /// Inside no other item.
    top: bool,
    properties: Vec<(&'v str, Vec<Value>)>,
    places: BTreeMap<&'v str, usize>,
    /// Items inside that are no property.
    children: Vec<usize>,
    /// Kinds of its properties, for what they imply.
    has_text: bool,
    has_url: bool,
    /// Has items inside, as properties or not.
    has_items: bool,
}

impl<'v> Item<'v> {
    fn add(&mut self, name: &'v str, value: Value) {
        let place = *self.places.entry(name).or_insert_with(|| {
            self.properties.push((name, Vec::new()));
            self.properties.len() - 1
        });
        if let Some((_, values)) = self.properties.get_mut(place) {
            values.push(value);
        }
    }

    fn get(&self, name: &str) -> Option<&[Value]> {
        let place = *self.places.get(name)?;
        self.properties
            .get(place)
            .map(|(_, values)| values.as_slice())
    }

    /// The first plain value of a property.
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.iter().find_map(|value| match value {
            Value::Text(text) | Value::Image { src: text, .. } | Value::Markup { text, .. } => {
                Some(text.as_str())
            }
            Value::Item { .. } => None,
        })
    }
}

/// Charges items that are written again. An element with two properties' names is the value of
/// both, and so are the items within it: without a bound, each level would double the answer.
struct Repeats<'b> {
    /// Whether an item was written, by its index.
    written: Vec<bool>,
    budget: &'b mut Budget,
}

impl Repeats<'_> {
    /// Bytes of an item's frame in the answer.
    const FRAME: usize = 256;

    /// Whether the item may be written: for the first time always, again while the budget lasts.
    fn allow(&mut self, index: usize, item: &Item<'_>) -> bool {
        let Some(written) = self.written.get_mut(index) else {
            return false;
        };
        if !std::mem::replace(written, true) {
            return true;
        }
        let values = item.properties.iter().flat_map(|(_, values)| values);
        let size: usize = values.map(Value::size).sum();
        self.budget.spend_text(Self::FRAME + size)
    }
}

/// Every item of a page, in document order.
struct Items<'v> {
    all: Vec<Item<'v>>,
}

impl<'v> Items<'v> {
    fn of(page: &Page<'_>, view: &'v View<'v>, budget: &mut Budget) -> Self {
        let mut items = Self { all: Vec::new() };
        // The items around the current node, innermost last.
        let mut open: Vec<usize> = Vec::new();
        for node in view.nodes().filter(Node::is_element) {
            while let Some(&last) = open.last()
                && items
                    .all
                    .get(last)
                    .is_none_or(|item| item.node.end() <= node.id())
            {
                items.close(page, last, budget);
                open.pop();
            }
            let around = open.last().copied();
            let old = around.and_then(|around| items.all.get(around)?.classic);
            let rel = old.and_then(|_| node.attr(attr::REL)).unwrap_or("");
            let class = node.attr(attr::CLASS).unwrap_or("");
            if class.is_empty() && rel.is_empty() {
                continue;
            }
            if !budget.spend(1) {
                break;
            }
            let is_root = is_root(class);
            let index = items.all.len();
            if let Some(around) = around {
                let mut is_property = false;
                let named: Vec<_> = match old {
                    Some(old) => old.properties(class, rel).take(MAX_NAMES).collect(),
                    None => properties(class).take(MAX_NAMES).collect(),
                };
                for kind in Kind::ALL {
                    let mut names = named.iter().filter(|(k, _)| *k == kind).map(|(_, n)| *n);
                    let Some(first) = names.next() else { continue };
                    is_property = true;
                    let value = if is_root {
                        let own = Box::new(property::value(page, node, kind, budget));
                        Value::Item { index, kind, own }
                    } else {
                        property::value(page, node, kind, budget)
                    };
                    let Some(item) = items.all.get_mut(around) else {
                        continue;
                    };
                    item.has_text |= matches!(kind, Kind::Text | Kind::Markup);
                    item.has_url |= kind == Kind::Url;
                    for name in names {
                        item.add(name, value.copy(budget));
                    }
                    item.add(first, value);
                }
                if is_root && let Some(item) = items.all.get_mut(around) {
                    item.has_items = true;
                    if !is_property {
                        item.children.push(index);
                    }
                }
            }
            if is_root {
                items.all.push(Item {
                    node,
                    classic: match roots(class).next() {
                        Some(_) => None,
                        None => classic::root(class),
                    },
                    top: around.is_none(),
                    properties: Vec::new(),
                    places: BTreeMap::new(),
                    children: Vec::new(),
                    has_text: false,
                    has_url: false,
                    has_items: false,
                });
                open.push(index);
            }
        }
        while let Some(last) = open.pop() {
            items.close(page, last, budget);
        }
        items
    }

    /// Adds what an item implies, now that all of it is known.
    fn close(&mut self, page: &Page<'_>, index: usize, budget: &mut Budget) {
        let Some(item) = self.all.get_mut(index) else {
            return;
        };
        // Classic items imply nothing.
        if item.classic.is_some() {
            return;
        }
        if item.get("name").is_none() && !item.has_text && !item.has_items {
            let name = implied::name(item.node, budget);
            if !name.is_empty() {
                item.add("name", Value::Text(name));
            }
        }
        if item.has_url || item.has_items {
            return;
        }
        if item.get("photo").is_none()
            && let Some(photo) = implied::photo(page, item.node)
        {
            item.add("photo", photo);
        }
        if item.get("url").is_none()
            && let Some(url) = implied::url(page, item.node)
        {
            item.add("url", Value::Text(url));
        }
    }

    /// Writes an item; as the value of a property with that value. Recursion is bounded
    /// by [`MAX_DEPTH`]: deeper items are left out, and repeated ones beyond the budget.
    fn write(
        &self,
        index: usize,
        value: Option<(Kind, &Value)>,
        depth: usize,
        repeats: &mut Repeats<'_>,
        w: &mut Writer,
    ) {
        let Some(item) = self.all.get(index) else {
            return;
        };
        if !repeats.allow(index, item) {
            return;
        }
        w.begin_object();
        w.key("type").array(|w| {
            if let Some(classic) = item.classic {
                w.string(classic.root);
            }
            for name in roots(item.node.attr(attr::CLASS).unwrap_or("")) {
                w.string(name);
            }
        });
        let id = item.node.attr(attr::ID).unwrap_or("").trim_ascii();
        if !id.is_empty() {
            w.key("id").string(id);
        }
        w.key("properties").begin_object();
        for (name, values) in &item.properties {
            w.key(name).begin_array();
            for value in values {
                match value {
                    Value::Item { index, kind, own } => {
                        if depth < MAX_DEPTH {
                            self.write(*index, Some((*kind, own)), depth + 1, repeats, w);
                        }
                    }
                    plain => plain.write(w),
                }
            }
            w.end_array();
        }
        w.end_object();
        if let Some((kind, own)) = value {
            // A nested item stands for its name or its URL, else for its own text.
            let stands = match kind {
                Kind::Text => item.text("name"),
                Kind::Url => item.text("url"),
                Kind::Time | Kind::Markup => None,
            };
            match stands {
                Some(text) => w.key("value").string(text),
                None => own.write_nested(w),
            };
        }
        if !item.children.is_empty() && depth < MAX_DEPTH {
            w.key("children").begin_array();
            for child in &item.children {
                self.write(*child, None, depth + 1, repeats, w);
            }
            w.end_array();
        }
        w.end_object();
    }
}
