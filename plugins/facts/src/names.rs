//! Names of authors.

use orbweaver_sdk::dom::Node;
use orbweaver_sdk::text::{collapse, line};

use crate::clock::{CHANGED, PUBLISHED};

/// Longest name, in bytes and in words.
const MAX_BYTES: usize = 100;
const MAX_WORDS: usize = 8;

/// What introduces an author's name, in lower case. Longer ones stand first.
const INTRODUCTIONS: &[&str] = &[
    // English
    "this article was written by",
    "article written by",
    "written and reviewed by",
    "written by",
    "posted by",
    "published by",
    "article by",
    "story by",
    "words by",
    "text by",
    "recipe by",
    "review by",
    "reviewed by",
    "created by",
    "submitted by",
    "authored by",
    "contributed by",
    "asked by",
    "started by",
    "a post by",
    "from the desk of",
    "by:",
    "by",
    "authors:",
    "author:",
    "authors",
    "author",
    "writer:",
    "posted:",
    // German
    "geschrieben von",
    "veröffentlicht von",
    "verfasst von",
    "ein artikel von",
    "ein beitrag von",
    "text von",
    "text:",
    "von:",
    "von",
    "autorin:",
    "autor:in:",
    "autor*in:",
    "autor:",
    "autor",
    // French
    "écrit par",
    "rédigé par",
    "publié par",
    "posté par",
    "article de",
    "propos recueillis par",
    "par:",
    "par",
    "auteur :",
    "auteur:",
    "autrice :",
    "auteur",
    // Spanish, Portuguese, Italian, Catalan, Romanian
    "escrito por",
    "publicado por",
    "redactado por",
    "postado por",
    "por:",
    "por",
    "autora:",
    "autoria:",
    "redacción:",
    "texto:",
    "texto de",
    "scritto da",
    "pubblicato da",
    "a cura di",
    "di:",
    "di",
    "autore:",
    "escrit per",
    "per",
    "scris de",
    "publicat de",
    "de:",
    // Dutch and the Nordic languages
    "geschreven door",
    "geplaatst door",
    "door:",
    "door",
    "auteur(s):",
    "tekst:",
    "skrevet av",
    "skrevet af",
    "skriven av",
    "publicerad av",
    "av:",
    "av",
    "af:",
    "af",
    "författare:",
    "forfatter:",
    "kirjoittanut",
    "kirjoittaja:",
    "teksti:",
    // Slavic languages, Hungarian, Greek, Turkish
    "napisał",
    "napisała",
    "autorzy:",
    "przez",
    "napsal",
    "napsala",
    "autoři:",
    "szerző:",
    "írta:",
    "автор:",
    "автор",
    "автори:",
    "текст:",
    "γράφει ο",
    "γράφει η",
    "του",
    "της",
    "συντάκτης:",
    "yazan:",
    "yazar:",
    // Others
    "penulis:",
    "oleh:",
    "oleh",
    "ditulis oleh",
    "tác giả:",
    "viết bởi",
    "bởi",
    "ผู้เขียน:",
    "ผู้เขียน",
    "เขียนโดย",
    "โดย",
    "כתב:",
    "כתבה:",
    "מאת:",
    "מאת",
    "بقلم:",
    "بقلم",
    "كتب:",
    "كتبه",
    "الكاتب:",
    "نویسنده:",
    "लेखक:",
    "लेखक",
    "द्वारा:",
    "作者：",
    "作者:",
    "作者",
    "文：",
    "文:",
    "文／",
    "文/",
    "撰文：",
    "記者",
    "记者",
    "編輯：",
    "编辑：",
    "責任編集：",
    "著者：",
    "著者:",
    "執筆：",
    "執筆者：",
    "文責：",
    "投稿者：",
    "投稿者:",
    "글:",
    "글",
    "작성자:",
    "작성자",
    "기자:",
];

/// Texts beside an author's name that are none, in lower case.
const LABELS: &[&str] = &[
    "about",
    "about the author",
    "about us",
    "author",
    "authors",
    "byline",
    "comment",
    "comments",
    "contribute",
    "contributor",
    "contributors",
    "contact",
    "edit",
    "editor",
    "editorial",
    "follow",
    "follow me",
    "follow us",
    "guest",
    "home",
    "log in",
    "login",
    "member",
    "members",
    "menu",
    "more",
    "more from",
    "more posts",
    "new member",
    "next",
    "on",
    "posts",
    "previous",
    "profile",
    "read more",
    "reply",
    "report",
    "save",
    "search",
    "see all",
    "share",
    "sign in",
    "subscribe",
    "topic author",
    "top contributors",
    "unknown",
    "user",
    "users",
    "verified",
    "view all",
    "view profile",
    "website",
    "null",
    "undefined",
    "none",
    "n/a",
    "anonymous user",
    "read full bio",
    "view bio",
    "work with us",
    "meet the author",
    "our authors",
    "all posts",
    "see more",
    "op",
    "original poster",
    "insights author",
];

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
    INTRODUCTIONS.iter().find_map(|known| {
        let rest = after(text, known)?;
        let sign = known.ends_with([':', '：', '/', '／']);
        let rest_trimmed = rest.trim_start_matches([' ', ':', '：', '\u{a0}']);
        // The word ends here: "Byron" is not introduced by "by".
        let ends = sign
            || rest.is_empty()
            || rest_trimmed.len() < rest.len()
            || !known.is_ascii() && spaceless(known);
        ends.then_some(rest_trimmed)
    })
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
    before_dates(text)
        .trim()
        .trim_end_matches([',', ';', ':', '|', '·', '(', ' '])
}

/// A byline up to the word that introduces a date.
fn before_dates(text: &str) -> &str {
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let begins = c.is_alphabetic() && !in_word;
        in_word = c.is_alphabetic();
        let Some((head, tail)) = text.split_at_checked(at).filter(|_| begins && at > 0) else {
            continue;
        };
        if CHANGED
            .iter()
            .chain(PUBLISHED)
            .any(|word| after(tail, word).is_some())
        {
            return head;
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
    LABELS.contains(&lower)
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
