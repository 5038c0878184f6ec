//! Names of authors.

mod behind;
mod callings;
mod people;
mod words;

use orbweaver_sdk::dom::Node;
use orbweaver_sdk::text::{ByFirstByte, collapse, line};

pub use behind::tells_of_person;
use behind::{cut, without_role};
use callings::FORMS;
pub use people::{inverted, is_and, is_person};
use words::{INTRODUCTIONS, LABELS, NAMES_TOO, NOT_AUTHORS};

/// Longest name, in bytes and in words.
const MAX_BYTES: usize = 100;
const MAX_WORDS: usize = 8;

/// The name in a text: without what introduces it and what follows it. `None` where it can be
/// no name.
pub fn name(text: &str) -> Option<String> {
    let text = collapse(text);
    bare(introduced(&text, Place::Name).unwrap_or(&text))
}

/// The name that a page in a language, a BCP 47 tag, states as one: in a meta or in JSON-LD. It may
/// begin with a word that introduces names or labels elsewhere: "Per Larsson", "Read Montague".
pub fn stated(text: &str, language: &str) -> Option<String> {
    let text = collapse(text);
    let rest = introduced(&text, Place::Stated(language)).unwrap_or(&text);
    without_rest(rest, |found| {
        has_form_of_name(found) && (!is_label(found) || is_person(found) && !is_known_label(found))
    })
}

/// The name in a text that nothing introduces: without what follows it. Several are divided by
/// commas.
pub fn bare(text: &str) -> Option<String> {
    without_rest(&collapse(text), is_name)
}

/// The name in a text, if it is one of several people or passes as one.
fn without_rest(text: &str, is_name: impl Fn(&str) -> bool) -> Option<String> {
    /// Longest list of names, in bytes.
    const MAX_LIST: usize = 2_000;
    let found = Some(cut(text)).filter(|found| found.len() <= MAX_LIST)?;
    let list = |text: &str| people::list(text).map(|people| people.join(", "));
    list(found).or_else(|| {
        let found = without_role(found);
        list(&found).or_else(|| is_name(&found).then_some(found))
    })
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
    introduced(text, Place::Byline)
}

/// Where a text stands that may begin with an introduction.
#[derive(Clone, Copy)]
enum Place<'l> {
    /// Beside other text.
    Byline,
    /// Where a name is marked.
    Name,
    /// In a meta or in JSON-LD of a page in this language.
    Stated(&'l str),
}

impl Place<'_> {
    /// Whether a text begins with this known word as an introduction of the rest, and not as a part
    /// of the name: "Per Larsson", "Di Wu", "Von Miller".
    fn introduces(self, known: &str, text: &str, rest: &str) -> bool {
        let Some((_, languages)) = NAMES_TOO.iter().find(|(word, _)| *word == known) else {
            return true;
        };
        if rest.is_empty() || !text.starts_with(char::is_uppercase) {
            return true;
        }
        let names_a_person = || {
            rest.starts_with(char::is_uppercase)
                && is_person(&without_role(people::first(cut(rest))))
        };
        match self {
            // The others introduce one word more often than they begin a name: "Von Anna".
            Self::Byline => known != "per" || names_a_person(),
            Self::Name => names_a_person(),
            Self::Stated(language) => {
                let main = language.split(['-', '_']).next().unwrap_or("");
                let mut languages = languages.split(' ');
                let is_used = main.is_empty()
                    || languages.any(|known| known == "*" || known.eq_ignore_ascii_case(main));
                is_used && names_a_person()
            }
        }
    }
}

fn introduced<'t>(text: &'t str, place: Place<'_>) -> Option<&'t str> {
    // Romanian, and others of its family; "De" begins names.
    if let Some(rest) = text.strip_prefix("de ")
        && rest.starts_with(char::is_uppercase)
        && is_person(rest)
    {
        return Some(rest);
    }
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
        (ends && place.introduces(known, text, rest_trimmed)).then_some(rest_trimmed)
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

/// A few words with a letter among them, which are not known to be something else.
pub fn is_name(text: &str) -> bool {
    has_form_of_name(text) && !is_label(text)
}

/// Whether a text is a few words with a letter among them.
fn has_form_of_name(text: &str) -> bool {
    let words = text.split(' ').count();
    words <= MAX_WORDS
        && text.len() <= MAX_BYTES
        && text.chars().filter(|c| c.is_alphabetic()).take(2).count()
            >= if text.is_ascii() { 2 } else { 1 }
        && !text.contains("://")
        && !is_mail(text)
}

/// Whether a text stands beside names but is none.
pub fn is_label(text: &str) -> bool {
    let lower = text.to_lowercase();
    let lower = lower.trim_matches(|c: char| !c.is_alphanumeric());
    LABELS.contains(&lower) || NOT_AUTHORS.iter().any(|begin| lower.starts_with(begin))
}

/// Whether a text is a label as a whole, or begins with what begins no name: more than one verb.
fn is_known_label(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_verb = |begin: &str| {
        begin
            .strip_suffix(' ')
            .is_some_and(|verb| !verb.contains(' '))
    };
    let begins = |begin: &&str| !is_verb(begin) && lower.starts_with(*begin);
    LABELS.contains(&lower.as_str()) || NOT_AUTHORS.iter().any(begins)
}

/// Whether a word is the legal form of a company: "Inc.", "GmbH".
pub fn is_legal_form(word: &str) -> bool {
    let word = word.to_lowercase();
    FORMS.contains(&word.trim_end_matches(['.', ')']))
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
            ("লেখক: রফিক হাসান", Some("রফিক হাসান")),
            ("de Ion Popescu", Some("Ion Popescu")),
            ("de Gaulle", Some("de Gaulle")),
            ("De Niro Paul", Some("De Niro Paul")),
            ("Autorius: Jonas Jonaitis", Some("Jonas Jonaitis")),
            ("ავტორი: გიორგი", Some("გიორგი")),
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

    #[test]
    fn a_stated_name_may_begin_like_an_introduction_or_a_label() {
        for (text, language, expected) in [
            ("Per Larsson", "sv", Some("Per Larsson")),
            ("Per Olof Larsson", "sv-SE", Some("Per Olof Larsson")),
            (
                "Per Larsson och Anna Berg",
                "sv",
                Some("Per Larsson, Anna Berg"),
            ),
            ("Per Joan Puig", "ca", Some("Joan Puig")),
            ("Oleh Petrenko", "uk", Some("Oleh Petrenko")),
            ("Oleh Andi Wijaya", "id", Some("Andi Wijaya")),
            ("Di Wu", "it", Some("Di Wu")),
            ("Di Wei Wu", "en", Some("Di Wei Wu")),
            ("Di Marco Rossi", "it-IT", Some("Marco Rossi")),
            ("Von Miller", "en", Some("Von Miller")),
            ("Von Anna Müller", "de", Some("Anna Müller")),
            (
                "Von Anna Müller und Jörg Schmidt",
                "de",
                Some("Anna Müller, Jörg Schmidt"),
            ),
            ("Von Anna Müller, Redakteurin", "DE", Some("Anna Müller")),
            ("von Anna", "de", Some("Anna")),
            ("Von der Leyen", "de", Some("Von der Leyen")),
            ("Par Singh", "fr", Some("Par Singh")),
            ("por María", "en", Some("María")),
            ("Author Jones", "en", Some("Author Jones")),
            ("Author Jane Doe", "en", Some("Jane Doe")),
            ("Di Marco Rossi", "", Some("Marco Rossi")),
            ("By Jane Doe", "de", Some("Jane Doe")),
            ("See Kee Oon", "en", Some("See Kee Oon")),
            ("Read Montague", "en", Some("Read Montague")),
            ("Read More", "en", None),
            ("Sponsored Post", "en", None),
            ("View all posts", "en", None),
            ("Updated by Jon Lee", "en", None),
            ("Reviewed By Jon Lee", "en", None),
            ("Contact", "en", None),
        ] {
            assert_eq!(stated(text, language).as_deref(), expected, "{text}");
        }
        // Marked as names, without a language.
        for text in ["Per Larsson", "Di Wu", "Von Miller", "Oleh Petrenko"] {
            assert_eq!(name(text).as_deref(), Some(text));
        }
        assert_eq!(strip_introduction("Per Larsson"), None);
        assert_eq!(strip_introduction("Von Anna"), Some("Anna"));
    }
}
