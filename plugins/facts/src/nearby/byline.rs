//! The names in an element or a text that may be a byline.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::{collapse, is_hidden};

use super::{MAX_BYLINE_TEXT, MAX_TEXT};
use crate::linked::leads_to_topic;
use crate::marks::has;
use crate::names;
use crate::profile::leads_to_profile;
use crate::text::class_words;

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
    // Up to the next introduction, names are those of people who did something else.
    let mut others = false;
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
        let begins = !others || names::strip_introduction(text).is_some();
        others = tells_of_others(text);
        if names.is_empty() && (others || !begins || is_of_topic(inner)) {
            others |= !begins;
            continue;
        }
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
        } else if own.is_none() || own != holder {
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

/// Whether a text tells that the next name is of somebody who did something else than to write:
/// "Medically reviewed by".
pub(super) fn tells_of_others(label: &str) -> bool {
    /// Longest label, in bytes.
    const LONGEST: usize = 60;
    const ENDS: &[&str] = &[
        "reviewed by",
        "edited by",
        "checked by",
        "fact-check by",
        "updated by",
        "verified by",
        "approved by",
        "translated by",
        "photos by",
        "photographs by",
        "photography by",
        "illustrated by",
        "illustrations by",
        "geprüft von",
        "überprüft von",
        "übersetzt von",
        "aktualisiert von",
        "bearbeitet von",
        "fotos von",
        "relu par",
        "révisé par",
        "vérifié par",
        "traduit par",
        "mis à jour par",
        "photos par",
        "revisado por",
        "verificado por",
        "editado por",
        "traducido por",
        "traduzido por",
        "actualizado por",
        "atualizado por",
        "revisionato da",
        "verificato da",
        "tradotto da",
        "aggiornato da",
        "beoordeeld door",
        "gecontroleerd door",
        "vertaald door",
        "bijgewerkt door",
        "granskad av",
        "監修",
        "監修者",
    ];
    let label = label.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '：'));
    if label.is_empty() || label.len() > LONGEST {
        return false;
    }
    let label = label.to_lowercase();
    ENDS.iter().any(|end| label.ends_with(end)) && !label.starts_with("written")
}

/// Whether a text is that of a link to a tag or a category, or of an element whose class says so.
fn is_of_topic(text: Node<'_>) -> bool {
    const LEVELS: usize = 3;
    const WORDS: [&[u8]; 2] = [b"category", b"categories"];
    let says_so = |node: Node<'_>| {
        let mut words = class_words(node.attr(attr::CLASS).unwrap_or(""));
        words.any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    text.ancestors().take(LEVELS).any(|node| {
        node.tag() == tag::A && leads_to_topic(node).is_some()
            || node.tag() == tag::SPAN && says_so(node)
    })
}

/// The name at the beginning of a line that calls the person a reporter, as Korean newspapers write it:
/// "홍길동 기자", "홍길동 기자 hong@example.com".
pub(super) fn reporter(line: &str) -> Option<&str> {
    let (name, behind) = line.split_once(' ')?;
    let rest = behind.strip_prefix("기자")?;
    let is_hangul = |c: char| ('가'..='힣').contains(&c);
    let is_name = (2..=4).contains(&name.chars().count()) && name.chars().all(is_hangul);
    (is_name && !rest.starts_with(is_hangul)).then_some(name)
}

/// The name of a user that an introduction of users introduces: "Posted by msmash on Friday".
/// `rest` is what follows the introduction, in the text or behind a label of its own.
pub(super) fn nickname(rest: &str, text: &str, label: &str) -> Option<String> {
    const INTRODUCTIONS: &[&str] = &[
        "posted by",
        "submitted by",
        "started by",
        "asked by",
        "geschrieben von",
        "posté par",
        "publicado por",
        "postado por",
        "geplaatst door",
    ];
    const LETTERS: std::ops::RangeInclusive<usize> = 3..=30;
    let before = text.strip_suffix(rest).filter(|before| !before.is_empty());
    let introduction = before.unwrap_or(label).trim().trim_end_matches([':', ' ']);
    if !INTRODUCTIONS
        .iter()
        .any(|known| introduction.eq_ignore_ascii_case(known))
    {
        return None;
    }
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    names::bare(rest).filter(|name| {
        LETTERS.contains(&name.len())
            && name.bytes().all(is_sign)
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.contains(|c: char| c.is_ascii_alphabetic())
    })
}

/// Whether a text is nothing but an introduction: "By".
pub(super) fn introduces(label: &str) -> bool {
    label.len() <= 24 && names::strip_introduction(label).is_some_and(str::is_empty)
}

/// Whether a text in a byline's place may be a name: no date, no number of things.
fn plausible(name: &str) -> bool {
    let digits = name.chars().filter(|c| c.is_numeric()).count();
    let words = name.split(' ').count();
    // "editorial policies" is no name.
    let is_phrase =
        words > 1 && name.is_ascii() && !name.contains(|c: char| c.is_ascii_uppercase());
    // Users of forums have names of one word with digits in them.
    !is_phrase && digits == 0 || words == 1 && digits < name.chars().count().div_ceil(2)
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

/// Whether a text begins as a byline does: "Written by Ann Lee on".
pub(super) fn begins_as_byline(text: &str) -> bool {
    /// Longest word between a name and a date.
    const MAX_WORD: usize = 4;
    let text = text.trim();
    let text = match text.rsplit_once(' ') {
        Some((names, word)) if word.len() <= MAX_WORD && word.chars().all(char::is_lowercase) => {
            names
        }
        _ => text,
    };
    text.len() <= MAX_BYLINE_TEXT
        && names::strip_introduction(text).is_some_and(|rest| {
            names::bare(rest).is_some_and(|name| name.split(", ").all(names::is_person))
        })
}
