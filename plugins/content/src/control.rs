//! What is a button though it is no `<button>`: links of shops and manuals.

use orbweaver_sdk::dom::{Node, attr, tag};

/// Parts of class names by which shops mark what puts a thing into a cart or on a list, or shows it
/// in a window.
const NAMES: [&str; 13] = [
    "add-to-cart",
    "add_to_cart",
    "addtocart",
    "add-to-basket",
    "tocart",
    "quick-view",
    "quickview",
    "quick_view",
    "towishlist",
    "to-wishlist",
    "to_wishlist",
    "tocompare",
    "add-to-compare",
];

/// Parts of addresses that put a thing into a cart.
const DEEDS: [&str; 3] = ["add-to-cart", "add_to_cart", "action=add"];

/// Whether an element is a button of a shop though it is no `<button>`: a link, or what is one by its
/// role. It says nothing of the thing, and stands beside every one of a collection, often in one line
/// with the price. A heading is none: that of a card may open the thing in a window.
pub fn is_of_shop(node: Node<'_>) -> bool {
    let is_link = node.tag() == tag::A;
    let may_be = is_link
        || matches!(node.tag(), tag::DIV | tag::SPAN) && node.attr(attr::ROLE) == Some("button");
    let holds = |value: &str, parts: &[&str]| parts.iter().any(|part| value.contains(part));
    may_be
        && (node
            .attr(attr::CLASS)
            .is_some_and(|class| may_hold_name(class) && holds(class, &NAMES))
            || is_link
                && node
                    .attr(attr::HREF)
                    .is_some_and(|href| may_hold_deed(href) && holds(href, &DEEDS)))
        && !is_heading(node)
}

/// Whether what all [`NAMES`] have in common stands in a class: it is rare, and every link of a page is
/// asked.
fn may_hold_name(class: &str) -> bool {
    let mut fours = class.as_bytes().windows(4);
    fours.any(|four| match four {
        b"quic" => true,
        [b't', b'o', b'-' | b'_', next] | [b't', b'o', next, _] => {
            matches!(next, b'b' | b'c' | b'w')
        }
        _ => false,
    })
}

/// Whether what all [`DEEDS`] have in common stands in an address.
fn may_hold_deed(href: &str) -> bool {
    let mut threes = href.as_bytes().windows(3);
    threes.any(|three| three == b"add")
}

/// Whether an element is a control of a manual: MediaWiki's links to edit the section that a heading
/// begins, or rustdoc's label of a part that is open from the start, which is shown where it is closed.
pub fn is_of_manual(node: Node<'_>) -> bool {
    match node.tag() {
        tag::SPAN => node.has_class("mw-editsection"),
        tag::SUMMARY => node.has_class("hideme"),
        _ => false,
    }
}

/// Whether an element is in a heading or holds one.
fn is_heading(node: Node<'_>) -> bool {
    /// Levels above and nodes below that are looked at.
    const ABOVE: usize = 2;
    const BELOW: usize = 8;
    let mut near = node
        .ancestors()
        .take(ABOVE)
        .chain(node.descendants().take(BELOW));
    near.any(|near| matches!(near.tag(), tag::H1..=tag::H6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_of_manuals_are_told_from_its_parts() {
        for (html, is) in [
            (
                "<span class=mw-editsection>[<a href=/e>edit</a>]</span>",
                true,
            ),
            ("<summary class=hideme><span>Expand</span></summary>", true),
            ("<span class=mw-headline>Editing</span>", false),
            ("<summary>More of it</summary>", false),
        ] {
            let snapshot = orbweaver_sdk::dom::parse(html);
            let found = snapshot.view().ok().and_then(|view| {
                let body = view.body()?;
                body.child_elements().next().map(is_of_manual)
            });
            assert_eq!(found, Some(is), "{html}");
        }
    }

    #[test]
    fn what_puts_a_thing_into_a_cart_is_told_from_links_to_it() {
        for (html, is) in [
            ("<a href='?add-to-cart=7' class=button>Add</a>", true),
            ("<a href='/cart.php?action=add&id=7'>Add</a>", true),
            ("<a href='#' class='action tocompare'>Compare</a>", true),
            ("<a href='#' class='js-quick-view'>Look</a>", true),
            ("<a href='#' class='add_to_wishlist'>Keep</a>", true),
            ("<a href='#' class='add-to-compare'>Compare</a>", true),
            (
                "<div role=button class=sqs-add-to-cart-button>Add</div>",
                true,
            ),
            ("<div class=add-to-cart-form>In stock: 7</div>", false),
            ("<a href='/cart' class=cart-contents>Cart</a>", false),
            ("<a href='/lamp' class=card-title>Lamp</a>", false),
            ("<a href='/lamp' class=wishlist-item>Lamp</a>", false),
            ("<a href='#' class=quickview><h3>Lamp</h3></a>", false),
        ] {
            let snapshot = orbweaver_sdk::dom::parse(html);
            let found = snapshot.view().ok().and_then(|view| {
                let body = view.body()?;
                body.child_elements().next().map(is_of_shop)
            });
            assert_eq!(found, Some(is), "{html}");
        }
    }
}
