//! What holds a date, and what the text around one tells of it.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::collapse;

use super::MAX_TEXT;
use crate::date_meaning::DateMeaning;
use crate::dates::{self, Manner};
use crate::marks::machine_value;

/// The day that an element with the class of a date states beside its text.
pub(super) fn stated(node: Node<'_>, manner: Manner<'_>) -> Option<String> {
    if node.tag() == tag::META {
        return None;
    }
    let value = machine_value(node).or_else(|| node.attr(attr::TITLE))?;
    let date = Some(value).filter(|value| value.len() <= MAX_TEXT && has_year(value));
    dates::read(&collapse(date?), manner).filter(|date| date.len() >= 10)
}

/// Whether an element holds no more than a date of what the page is about, as Microdata states it.
pub(super) fn is_of_subject(node: Node<'_>) -> bool {
    /// Nodes of an element that holds a date and little else.
    const MAX_NODES: u32 = 24;
    node.end() - node.id() <= MAX_NODES
        && node
            .attr(attr::ITEMPROP)
            .is_some_and(DateMeaning::is_of_subject)
}

/// Whether a text with a date after `before` tells where it comes from, and is no sentence:
/// "Hamburg, 2 November 2021", "Press release of 2 November 2021 | Berlin".
pub(super) fn is_line_of_facts(text: &str, before: &str) -> bool {
    /// Longest line, in characters, and most words before its date.
    const MAX_CHARS: usize = 70;
    const MAX_WORDS: usize = 4;
    text.chars().count() <= MAX_CHARS
        && before.split_whitespace().count() <= MAX_WORDS
        && !text.ends_with(['.', '!', '?', ':', '…'])
        && !FACTS_OF_USERS.iter().any(|word| {
            before
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        })
}

/// What dates beside the names of users are of.
const FACTS_OF_USERS: &[&str] = &[
    "join",
    "founded",
    "member since",
    "regist",
    "last visit",
    "last seen",
];

/// Whether a text may hold a date with a year: a quick look before it is read.
pub(super) fn has_year(text: &str) -> bool {
    let bytes = text.as_bytes();
    if text.is_ascii() && !bytes.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let western = bytes.windows(4).any(|four| {
        four.iter().all(u8::is_ascii_digit) && matches!(four.first(), Some(b'1' | b'2'))
    });
    // `14.3.24`, and digits of other scripts.
    western
        || bytes.windows(3).any(|three| matches!(three, [d, b'.' | b'/' | b'-', y] if d.is_ascii_digit() && (y.is_ascii_digit() || *y == b' ')))
        || text.contains(['년', '年'])
        || text.chars().any(|c| !c.is_ascii() && c.is_numeric())
}
