//! Reading values of elements, as several syntaxes do.

use std::borrow::Cow;

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text;

use orbweaver_sdk::Budget;

/// A reference as an absolute URL; what is no `http` or `https` URL stays as written.
pub fn resolve<'a>(page: &Page<'_>, reference: &'a str) -> Cow<'a, str> {
    let reference = reference.trim_ascii();
    match page.base().and_then(|base| base.join(reference)) {
        Some(url) => Cow::Owned(url.into_string()),
        None => Cow::Borrowed(reference),
    }
}

/// The attribute that holds the URL of an element whose value is one.
pub fn url_attribute(node: Node<'_>) -> Option<&str> {
    match node.tag() {
        tag::A | tag::AREA | tag::LINK => node.attr(attr::HREF),
        tag::AUDIO
        | tag::EMBED
        | tag::IFRAME
        | tag::IMG
        | tag::SOURCE
        | tag::TRACK
        | tag::VIDEO => node.attr(attr::SRC),
        tag::OBJECT => node.attr_named("data"),
        _ => None,
    }
}

/// The element's text in one line; empty once the budget is spent.
pub fn line(node: Node<'_>, budget: &mut Budget) -> String {
    if !budget.spend(node.end() - node.id()) {
        return String::new();
    }
    budget.text(text::line(node), 1)
}
