//! Names of authors.

mod words;

use orbweaver_sdk::dom::Node;
use orbweaver_sdk::text::{ByFirstByte, collapse, line};

use crate::date_meaning::{CHANGED, PUBLISHED};
use crate::dates::{self, Manner};
use words::{INTRODUCTIONS, LABELS, NOT_AUTHORS};

/// Longest name, in bytes and in words.
const MAX_BYTES: usize = 100;
const MAX_WORDS: usize = 8;

/// The name in a text: without what introduces it and what follows it. `None` where it can be
/// no name.
pub fn name(text: &str) -> Option<String> {
    let text = collapse(text);
    bare(strip_introduction(&text).unwrap_or(&text))
}

/// The name in a text that nothing introduces: without what follows it.
pub fn bare(text: &str) -> Option<String> {
    let text = collapse(text);
    let found = cut(&text);
    is_name(found).then(|| found.to_owned())
}

/// The element's text if it is a name.
pub fn person(node: Node<'_>) -> Option<String> {
    /// More than this is no name but what surrounds one.
    const MAX_NODES: u32 = 24;
    if node.end() - node.id() > MAX_NODES {
        return None;
    }
    name(&line(node))
}

/// What follows a word that introduces an author, if the text begins with one.
pub fn strip_introduction(text: &str) -> Option<&str> {
    // Nearly every text fails at its first byte.
    let first = text.chars().next()?.to_lowercase().next()?;
    let first = first_byte(first.encode_utf8(&mut [0; 4]));
    let known = BY_FIRST.group(first?);
    let mut known = known.filter_map(|place| INTRODUCTIONS.get(place));
    known.find_map(|known| {
        let rest = after(text, known)?;
        let sign = known.ends_with([':', '：', '/', '／']);
        let rest_trimmed = rest.trim_start_matches([' ', ':', '：', '\u{a0}']);
        // The word ends here: "Byron" is not introduced by "by".
        let ends = sign || rest.is_empty() || rest_trimmed.len() < rest.len() || spaceless(known);
        ends.then_some(rest_trimmed)
    })
}

static BY_FIRST: ByFirstByte<{ INTRODUCTIONS.len() }> = ByFirstByte::of(INTRODUCTIONS);

fn first_byte(text: &str) -> Option<u8> {
    text.as_bytes().first().copied()
}

/// Scripts that put no space between words.
fn spaceless(text: &str) -> bool {
    text.chars().next().is_some_and(
        |c| matches!(c, '\u{e01}'..='\u{e5b}' | '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'),
    )
}

/// The rest of `text` after `head`, which is in lower case.
fn after<'t>(text: &'t str, head: &str) -> Option<&'t str> {
    let mut rest = text.chars();
    for wanted in head.chars() {
        let c = rest.next()?;
        if c != wanted && c.to_lowercase().ne(std::iter::once(wanted)) {
            return None;
        }
    }
    Some(rest.as_str())
}

/// A byline up to what follows the name: a date, a bar, the word "on" or "Updated".
fn cut(text: &str) -> &str {
    const ENDS: &[&str] = &[
        " | ",
        " · ",
        " • ",
        " – ",
        " — ",
        " - ",
        " // ",
        " / ",
        "|",
        " on ",
        " in ",
        " at ",
        " Updated",
        " Published",
        " Posted",
        " Last ",
        " am ",
        " le ",
        " el ",
        " il ",
        " op ",
        " den ",
    ];
    let mut end = text.len();
    for mark in ENDS {
        if let Some(at) = text.find(mark).filter(|at| *at > 0) {
            // A word may be part of a name, where no date or time follows it.
            let word = mark.trim().chars().all(char::is_alphabetic)
                && mark.starts_with(' ')
                && mark.ends_with(' ');
            let follows = text.get(at + mark.len()..).unwrap_or("");
            if !word || *mark == " on " || follows.contains(|c: char| c.is_numeric()) {
                end = end.min(at);
            }
        }
    }
    let text = text.get(..end).unwrap_or(text);
    let date = dates::find(text, Manner::of("")).filter(|found| found.start > 0);
    let text = date
        .and_then(|found| text.get(..found.start))
        .unwrap_or(text);
    before_dates(text)
        .trim()
        .trim_end_matches([',', ';', ':', '|', '·', '(', ' '])
}

/// A byline up to the word that introduces a date.
fn before_dates(text: &str) -> &str {
    let lower = text.to_lowercase();
    // Places are the same in both but for a few letters of a few scripts.
    if lower.len() != text.len() {
        return text;
    }
    let mut in_word = false;
    for (at, c) in lower.char_indices() {
        let begins = c.is_alphabetic() && !in_word;
        in_word = c.is_alphabetic();
        if !begins || at == 0 {
            continue;
        }
        let tail = lower.get(at..).unwrap_or("");
        let first = first_byte(tail);
        let mut words = CHANGED.iter().chain(PUBLISHED);
        if words.any(|word| first_byte(word) == first && tail.starts_with(word)) {
            return text.get(..at).unwrap_or(text);
        }
    }
    text
}

/// A few words with a letter among them, which are not known to be something else.
pub fn is_name(text: &str) -> bool {
    let words = text.split(' ').count();
    words <= MAX_WORDS
        && text.len() <= MAX_BYTES
        && text.chars().filter(|c| c.is_alphabetic()).take(2).count()
            >= if text.is_ascii() { 2 } else { 1 }
        && !text.contains("://")
        && !is_mail(text)
        && !is_label(text)
}

/// Whether a text stands beside names but is none.
pub fn is_label(text: &str) -> bool {
    let lower = text.to_lowercase();
    let lower = lower.trim_matches(|c: char| !c.is_alphanumeric());
    LABELS.contains(&lower) || NOT_AUTHORS.iter().any(|begin| lower.starts_with(begin))
}

fn is_mail(text: &str) -> bool {
    text.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') || name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_what_introduces_and_follows_them() {
        for (text, expected) in [
            ("By Jane Doe", Some("Jane Doe")),
            ("BY: JANE DOE", Some("JANE DOE")),
            ("Written by  Jane\n Doe on March 4", Some("Jane Doe")),
            ("Jane Doe | 4 March 2024", Some("Jane Doe")),
            (
                "Von Anna Müller, veröffentlicht am 14. März 2024",
                Some("Anna Müller"),
            ),
            (
                "Biology Forums, June 04, 2024, 11:23",
                Some("Biology Forums"),
            ),
            ("Follow Sarah", None),
            ("Updated by Jon Lee", None),
            ("Posted\u{a0}by", None),
            ("Byron Katie", Some("Byron Katie")),
            ("Von Anna Müller", Some("Anna Müller")),
            ("Vonda Shepard", Some("Vonda Shepard")),
            ("Par Amélie Poulain", Some("Amélie Poulain")),
            ("Escrito por María Gómez", Some("María Gómez")),
            ("Di Marco Rossi", Some("Marco Rossi")),
            ("Автор: Иван Петров", Some("Иван Петров")),
            ("作者：王小明", Some("王小明")),
            ("文/陳大文", Some("陳大文")),
            ("โดย สมชาย ใจดี", Some("สมชาย ใจดี")),
            ("بقلم أحمد علي", Some("أحمد علي")),
            ("มานี", Some("มานี")),
            ("by", None),
            ("Author", None),
            ("Share", None),
            ("42", None),
            ("jane@example.org", None),
            ("@jane", None),
            ("https://example.org/jane", None),
            ("One of the many sentences that are no name at all", None),
            ("", None),
        ] {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }
}
