//! Implied properties of an item that does not state them: name, photo, URL.

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::collapse;

use crate::microformats::is_root;
use crate::microformats::property::{Value, image, reader_text};
use crate::values::resolve;
use orbweaver_sdk::Budget;

/// The name: of an image or an abbreviation that is the item or all that it holds, else
/// its text.
pub fn name(item: Node<'_>, budget: &mut Budget) -> String {
    let mut node = item;
    for _ in 0..3 {
        let stated = match node.tag() {
            tag::IMG | tag::AREA => node.attr(attr::ALT),
            tag::ABBR => node.attr(attr::TITLE),
            _ => None,
        };
        if let Some(stated) = stated.filter(|s| !s.trim_ascii().is_empty()) {
            return collapse(stated);
        }
        match only_child(node) {
            Some(child) => node = child,
            None => break,
        }
    }
    reader_text(item, budget)
}

/// The photo: the item's own source, or the only image among its children, or among those
/// of its only child.
pub fn photo(page: &Page<'_>, item: Node<'_>) -> Option<Value> {
    let of = |node: Node<'_>| match node.tag() {
        tag::IMG => image(page, node),
        tag::OBJECT => Some(Value::Text(
            resolve(page, node.attr_named("data")?).into_owned(),
        )),
        _ => None,
    };
    let among = |node: Node<'_>| {
        [tag::IMG, tag::OBJECT]
            .iter()
            .find_map(|wanted| of(only_of(node, *wanted)?))
    };
    of(item)
        .or_else(|| among(item))
        .or_else(|| among(only_child(item)?))
}

/// The URL: the item's own, or that of the only link among its children, or among those of
/// its only child.
pub fn url(page: &Page<'_>, item: Node<'_>) -> Option<String> {
    let of = |node: Node<'_>| {
        let href = node
            .attr(attr::HREF)
            .filter(|_| matches!(node.tag(), tag::A | tag::AREA))?;
        Some(resolve(page, href).into_owned())
    };
    let among = |node: Node<'_>| {
        [tag::A, tag::AREA]
            .iter()
            .find_map(|wanted| of(only_of(node, *wanted)?))
    };
    of(item)
        .or_else(|| among(item))
        .or_else(|| among(only_child(item)?))
}

fn is_item(node: Node<'_>) -> bool {
    node.attr(attr::CLASS).is_some_and(is_root)
}

/// The only child element, if that is no item itself.
fn only_child(node: Node<'_>) -> Option<Node<'_>> {
    let mut children = node.child_elements();
    let child = children.next()?;
    (children.next().is_none() && !is_item(child)).then_some(child)
}

/// The only child of this tag, if that is no item itself.
fn only_of(node: Node<'_>, wanted: u16) -> Option<Node<'_>> {
    let mut children = node.child_elements().filter(|child| child.tag() == wanted);
    let child = children.next()?;
    (children.next().is_none() && !is_item(child)).then_some(child)
}
