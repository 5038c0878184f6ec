//! Whose a footer is: the page's own, or that of its text.

use orbweaver_sdk::dom::{Node, View, attr, tag};

/// Whether an element is the page's own footer, and not that of a post or an item.
pub fn is_footer(node: Node<'_>, h1: Option<u32>) -> bool {
    if !is_named_footer(node) {
        return false;
    }
    let is_of_part = |around: Node<'_>| {
        matches!(
            around.tag(),
            tag::ARTICLE | tag::LI | tag::BLOCKQUOTE | tag::TD
        ) && !h1.is_some_and(|h1| (around.id()..around.end()).contains(&h1))
    };
    !node.ancestors().take(32).any(is_of_part)
}

/// Whether the tag, the role, or the id or class of a `div` calls an element a footer.
fn is_named_footer(node: Node<'_>) -> bool {
    if node.tag() == tag::FOOTER {
        return true;
    }
    let named = |name: &str| name.eq_ignore_ascii_case("footer");
    let is_div = node.tag() == tag::DIV;
    node.attrs().any(|attribute| match attribute.id() {
        attr::ROLE => attribute.value() == "contentinfo",
        attr::ID => is_div && named(attribute.value()),
        attr::CLASS => is_div && attribute.value().split_ascii_whitespace().any(named),
        _ => false,
    })
}

/// Whether a footer is that of the page's text: of the only `article` among the nodes that are looked
/// at, as the HTML standard has it. Articles of comments are none.
pub fn is_of_text(footer: Node<'_>, from: u32, to: u32) -> bool {
    const LEVELS: usize = 32;
    let mut around = footer.ancestors().take(LEVELS);
    let Some(article) = around.find(|n| n.tag() == tag::ARTICLE) else {
        return false;
    };
    let view = footer.view();
    let is_other = |id: u32| {
        view.node(id).is_some_and(|node| {
            node.tag() == tag::ARTICLE && !article.contains(node) && !node.contains(article)
        })
    };
    let is_comment = article.has_class("comment");
    !is_comment && !around.any(|n| n.tag() == tag::ARTICLE) && !(from..to).any(is_other)
}

/// The footer of the page's only `article`, which holds the headline or the beginning of the content.
pub fn own_footer<'v>(view: &'v View<'v>, start: u32) -> Option<Node<'v>> {
    let article = view.node(start).and_then(|node| {
        let mut around = std::iter::once(node).chain(node.ancestors());
        around.find(|node| node.tag() == tag::ARTICLE)
    })?;
    let footer = article.child_elements().filter(|c| c.tag() == tag::FOOTER);
    footer
        .last()
        .filter(|footer| is_of_text(*footer, 0, view.len()))
}
