//! The value of an element as text.

use orbweaver_sdk::dom::{Kind as NodeKind, Namespace, Node, attr, tag};
use orbweaver_sdk::text::{self, push_escaped_html};
use regex_lite::Regex;

use crate::rules::{Kind, Take};

/// Bytes of a text in which a regular expression is searched for; what is behind them is not
/// looked at.
const MAX_SEARCHED: usize = 64 << 10;

/// What a rule takes of an element; `None` where it does not have the attribute.
pub(crate) fn value(node: Node<'_>, take: &Take, kind: Kind) -> Option<String> {
    match take {
        Take::Attribute(name) => node.attr_named(name).map(str::to_owned),
        Take::Html => Some(inner_html(node)),
        Take::Lines => Some(text::lines(node)),
        Take::Text | Take::Exists => Some(text::line(node)),
        Take::Value => Some(match own_value(node, kind) {
            Some(value) => value.to_owned(),
            None => text::line(node),
        }),
    }
}

/// The first group of the first match, or the whole match where there is no group.
pub(crate) fn matched(regex: &Regex, text: &str) -> Option<String> {
    let searched = text.get(..text.floor_char_boundary(MAX_SEARCHED))?;
    let found = regex.captures(searched)?;
    let wanted = usize::from(found.len() > 1);
    Some(found.get(wanted)?.as_str().to_owned())
}

/// The attribute that has an element's value: what a `meta` says, where a link leads, the time of
/// a `time`. `None` for an element whose value is its text.
fn own_value<'a>(node: Node<'a>, kind: Kind) -> Option<&'a str> {
    let id = match (kind, node.tag()) {
        (_, tag::META) => attr::CONTENT,
        (Kind::Url, tag::A | tag::AREA | tag::LINK) => attr::HREF,
        (
            Kind::Url,
            tag::IMG
            | tag::SCRIPT
            | tag::IFRAME
            | tag::SOURCE
            | tag::VIDEO
            | tag::AUDIO
            | tag::EMBED,
        ) => attr::SRC,
        (Kind::Url, tag::FORM) => attr::ACTION,
        (Kind::Date { .. }, tag::TIME) => attr::DATETIME,
        (_, tag::IMG) => attr::ALT,
        (_, tag::INPUT) => attr::VALUE,
        (Kind::Number | Kind::Integer, tag::DATA | tag::METER) => attr::VALUE,
        _ => return None,
    };
    node.attr(id)
}

/// The HTML inside an element, as `innerHTML` writes it.
/// <https://html.spec.whatwg.org/multipage/parsing.html#serialising-html-fragments>
fn inner_html(root: Node<'_>) -> String {
    let mut out = String::new();
    let mut open: Vec<Node<'_>> = Vec::new();
    for node in root.descendants() {
        while let Some(last) = open.pop_if(|last| last.end() <= node.id()) {
            close(last, &mut out);
        }
        match node.kind() {
            NodeKind::Element => {
                start_tag(node, &mut out);
                if !is_void(node) {
                    open.push(node);
                }
            }
            NodeKind::Text if node.parent().is_some_and(|parent| is_raw(parent)) => {
                out.push_str(node.text());
            }
            NodeKind::Text => push_escaped_html(node.text(), &mut out),
            NodeKind::Comment => {
                out.push_str("<!--");
                out.push_str(node.text());
                out.push_str("-->");
            }
            NodeKind::Document | NodeKind::Doctype => {}
        }
    }
    while let Some(last) = open.pop() {
        close(last, &mut out);
    }
    out
}

fn start_tag(node: Node<'_>, out: &mut String) {
    out.push('<');
    out.push_str(node.name());
    for attribute in node.attrs() {
        out.push(' ');
        out.push_str(attribute.name());
        out.push_str("=\"");
        push_escaped_html(attribute.value(), out);
        out.push('"');
    }
    out.push('>');
}

fn close(node: Node<'_>, out: &mut String) {
    out.push_str("</");
    out.push_str(node.name());
    out.push('>');
}

fn is_void(node: Node<'_>) -> bool {
    node.namespace() == Namespace::Html
        && matches!(
            node.name(),
            "area"
                | "base"
                | "br"
                | "col"
                | "embed"
                | "hr"
                | "img"
                | "input"
                | "link"
                | "meta"
                | "param"
                | "source"
                | "track"
                | "wbr"
        )
}

/// Whether the texts inside are written as they are.
fn is_raw(node: Node<'_>) -> bool {
    node.namespace() == Namespace::Html
        && matches!(
            node.name(),
            "style" | "script" | "xmp" | "iframe" | "noembed" | "noframes" | "plaintext"
        )
}
