//! The value of an element as text.

use orbweaver_sdk::dom::{Node, attr, html, tag};
use orbweaver_sdk::text;
use regex_lite::Regex;

use crate::rules::{Kind, Take};

/// Bytes of a text in which a regular expression is searched for; what is behind them is not
/// looked at.
const MAX_SEARCHED: usize = 64 << 10;

/// What a rule takes of an element; `None` where it does not have the attribute.
pub(crate) fn value(node: Node<'_>, take: &Take, kind: Kind) -> Option<String> {
    match take {
        Take::Attribute(name) => node.attr_named(name).map(str::to_owned),
        Take::Html => Some(html::inner(node)),
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
