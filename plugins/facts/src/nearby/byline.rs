//! The names in an element or a text that may be a byline.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::{collapse, is_hidden};

use super::MAX_TEXT;
use crate::marks::has;
use crate::names;
use crate::profile::leads_to_profile;

/// The names in an element: its runs of text, without introductions and labels, up to the first
/// that is no name.
pub(super) fn byline(node: Node<'_>) -> Option<String> {
    const MAX_RUNS: usize = 14;
    const MAX_NAMES: usize = 6;
    let mut names: Vec<String> = Vec::new();
    let mut joined = false;
    let mut holder = None;
    let mut skip_to = 0;
    let mut runs = 0;
    for inner in std::iter::once(node).chain(node.descendants()) {
        if inner.id() < skip_to {
            continue;
        }
        if inner.is_element() && is_hidden(inner.tag()) {
            skip_to = inner.end();
        }
        if !inner.is_text() {
            continue;
        }
        let text = inner.text();
        if text.trim().is_empty() {
            continue;
        }
        runs += 1;
        if runs > MAX_RUNS || text.len() > MAX_TEXT {
            break;
        }
        let text = collapse(text);
        let text = text.as_str();
        let rest = names::strip_introduction(text).unwrap_or(text);
        let own = own_element(inner, node);
        let apart = own.is_some() && holder.is_some() && own != holder;
        let lone = rest.trim_matches(|c: char| !c.is_alphanumeric());
        if names.is_empty() {
            if lone.is_empty() || names::is_label(lone) {
                continue;
            }
            names.push(names::bare(rest).filter(|name| plausible(name))?);
            joined = rest.trim_end().ends_with([',', '&']);
            holder = own;
        } else if names::is_and(text) {
            joined = true;
        } else if apart && names.len() < MAX_NAMES && !joined && !names::is_person(rest) {
            break;
        } else if (joined || apart) && names.len() < MAX_NAMES {
            match names::bare(rest).filter(|name| plausible(name)) {
                // The second part may be a house: "Ann Lee", "Weaver News".
                Some(name) if !names.contains(&name) && !tells_of(&names, &name) => {
                    names.push(name);
                }
                _ => break,
            }
            joined = rest.trim_end().ends_with([',', '&']);
            holder = own;
        } else {
            break;
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Whether a part of a byline tells of the person that is named first.
fn tells_of(names: &[String], part: &str) -> bool {
    let first = names.first().filter(|first| names::is_person(first));
    first.is_some_and(|first| names::tells_of_person(part, first))
}

/// The link to a person, or the item of a list, within a byline that holds a text: each author has
/// one.
fn own_element(text: Node<'_>, byline: Node<'_>) -> Option<u32> {
    const LEVELS: usize = 4;
    let mut around = text
        .ancestors()
        .take(LEVELS)
        .take_while(|n| n.id() > byline.id());
    let is_own = |n: &Node<'_>| {
        n.tag() == tag::LI
            || n.tag() == tag::A && (leads_to_profile(*n) || has(*n, attr::REL, "author"))
    };
    around.find(is_own).map(|n| n.id())
}

/// The name that a line of facts, each with its label, gives to the author, as Chinese sites write
/// it: "来源：新华网 作者：王小明 编辑：李四".
pub(super) fn labelled(line: &str) -> Option<&str> {
    const SIGNS: [char; 2] = ['：', ':'];
    let is_label = |at: &usize| {
        let before = line.get(..*at).unwrap_or_default();
        before.ends_with(|c: char| c.is_whitespace() || matches!(c, '|' | '｜'))
    };
    let mut labels = line.match_indices("作者").map(|(at, _)| at);
    let at = labels.find(is_label)? + "作者".len();
    let rest = line.get(at..)?.trim_start().strip_prefix(SIGNS)?;
    // Up to the next label.
    let rest = rest.trim_start();
    let end = rest.find(SIGNS).map_or(rest.len(), |sign| {
        let before = rest.get(..sign).unwrap_or_default();
        before.rfind(char::is_whitespace).unwrap_or(0)
    });
    rest.get(..end)
}

/// Whether a text is nothing but an introduction: "By".
pub(super) fn introduces(label: &str) -> bool {
    label.len() <= 24 && names::strip_introduction(label).is_some_and(str::is_empty)
}

/// Whether a text in a byline's place may be a name: no date, no number of things.
fn plausible(name: &str) -> bool {
    let digits = name.chars().filter(|c| c.is_numeric()).count();
    let words = name.split(' ').count();
    // Users of forums have names of one word with digits in them.
    digits == 0 || words == 1 && digits < name.chars().count().div_ceil(2)
}

/// Whether what follows "by" in a running text is a person, or several.
pub(super) fn looks_like_person(text: &str) -> bool {
    let until = text
        .split(['|', '·', '•', ','])
        .next()
        .unwrap_or(text)
        .trim();
    names::is_person(until)
        // All of the text is told of: "Ann Lee in London", "Ann Lee (Reuters)".
        || names::bare(text).is_some_and(|name| {
            name.split(", ").all(names::is_person)
        }) && !text.ends_with(['.', '!', '?', '…', ':'])
}
