//! Whether texts are names of people, and lists of them.

use super::behind::{tells_of_person, without_role};
use crate::text::find;

/// Authors of one page.
const MOST: usize = 20;

/// Words and signs between the last two names of a list. Some mean something else in other languages:
/// every part of a list must be a person's name.
const AND: &[&str] = &[
    " and ", " & ", " und ", " et ", " y ", " och ", " og ", " и ", " та ", " і ", " oraz ",
    " ve ", " və ", " e ", " en ", " i ", " ja ", " a ", " και ", " dan ", " và ", " és ", " și ",
    " şi ", " ir ", " un ", " dhe ", " eta ", " agus ",
];

/// The people of a list: "Ann Lee; Bo Lim", "Ann Lee, Bo Lim and Cy Day". `None` where a part is
/// no name of a person, or there is only one: "Simon & Schuster", "Lee, Ann".
pub fn list(text: &str) -> Option<Vec<String>> {
    let people = divided(text)?;
    // "Lee, Ann; Lim, Bo".
    let people: Vec<String> = people
        .into_iter()
        .map(|part| {
            let part = without_role(part);
            inverted(&part)
                .filter(|_| text.contains([';', '；']))
                .unwrap_or(part)
        })
        .collect();
    let mut known: Vec<String> = Vec::new();
    let first = people.first().cloned().unwrap_or_default();
    let is_house = tells_of_person(&first, "");
    for person in people {
        if !is_person(&person) && !is_uncased_name(&person) {
            return None;
        }
        // "Ann Lee, Master Weaver and Educator" is one.
        let is_other = known.is_empty() || is_house || !tells_of_person(&person, &first);
        if is_other && !known.contains(&person) {
            known.push(person);
        }
    }
    Some(known)
}

/// The parts of a list that has the signs or words of one.
fn divided(text: &str) -> Option<Vec<&str>> {
    let is_list = |parts: &[&str]| (2..=MOST).contains(&parts.len());
    let parts: Vec<&str> = if text.contains([';', '；']) {
        text.split([';', '；']).collect()
    } else if text.contains('、') {
        text.split('、').collect()
    } else if text.split('·').all(is_hangul_name) {
        text.split('·').collect()
    } else {
        let word = AND.iter().find(|word| find(text, word).is_some())?;
        let (before, last) = text.rsplit_once(word)?;
        // The last of "Ann Lee, Bo Lim, and Cy Day".
        let before = before.trim_end_matches(',');
        before
            .split([','])
            .flat_map(|part| part.split(*word))
            .chain([last])
            .collect()
    };
    let parts: Vec<&str> = parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    is_list(&parts).then_some(parts)
}

/// The first part of a list, or the text where it is none.
pub fn first(text: &str) -> &str {
    divided(text)
        .and_then(|parts| parts.first().copied())
        .unwrap_or(text)
}

/// A name without a family name first: "Ann Lee" of "Lee, Ann". `None` where it is none of the kind.
pub fn inverted(text: &str) -> Option<String> {
    /// Words of each half.
    const WORDS: usize = 3;
    let (family, given) = text.split_once(',')?;
    let (family, given) = (family.trim(), given.trim());
    let begins = |half: &str| {
        half.chars().next().is_some_and(char::is_alphabetic) && half.split(' ').count() <= WORDS
    };
    let is_name = begins(family)
        && begins(given)
        && !given.contains(',')
        && given.starts_with(char::is_uppercase);
    let is_other = super::is_label(given)
        || tells_of_person(given, family)
        || is_degree(given)
        || super::is_legal_form(given);
    (is_name && !is_other).then(|| format!("{given} {family}"))
}

/// Whether a text of one word is a degree or continues a name: "PhD", "M.D.", "Jr.", "MSc".
fn is_degree(text: &str) -> bool {
    let letters: String = text.chars().filter(|c| *c != '.').collect();
    let known = [
        "jr", "sr", "ii", "iii", "iv", "phd", "md", "msc", "bsc", "ma", "ba", "esq", "dds", "dvm",
        "dphil", "edd", "psyd", "pharmd", "mba", "mph", "rn",
    ];
    known
        .iter()
        .any(|degree| letters.eq_ignore_ascii_case(degree))
}

/// Whether a text is a person's name: two to five words that begin with capitals, in scripts that
/// have them; a short run in others.
pub fn is_person(text: &str) -> bool {
    /// Small words in names.
    const SMALL: &[&str] = &[
        "de", "van", "von", "der", "den", "la", "le", "da", "di", "bin", "al", "and", "del", "du",
        "dos", "das", "do", "ter", "ten", "el", "ibn", "zu", "af", "av",
    ];
    let cased = text.chars().any(|c| c.is_lowercase() || c.is_uppercase());
    if !cased {
        return (2..=12).contains(&text.chars().count()) && text.contains(char::is_alphabetic);
    }
    let mut words = text.split_whitespace();
    let count = words.clone().count();
    (2..=5).contains(&count)
        && words.all(|word| SMALL.contains(&word) || begins_as_name(word))
        && text.contains(char::is_uppercase)
}

/// Whether a word begins with a capital, maybe behind a small one: "d'Ormesson".
fn begins_as_name(word: &str) -> bool {
    let begins = |part: &str| part.starts_with(char::is_uppercase);
    let behind = word.split_once(['\'', '’']);
    begins(word) || behind.is_some_and(|(_, rest)| begins(rest))
}

/// Whether a text may be a name in a script without capitals that puts spaces between words.
fn is_uncased_name(text: &str) -> bool {
    /// Letters of the longest.
    const LONGEST: usize = 40;
    let uncased = !text.contains(|c: char| c.is_lowercase() || c.is_uppercase() || c.is_numeric());
    uncased && (2..=5).contains(&text.split(' ').count()) && text.chars().count() <= LONGEST
}

/// Whether a text is a Korean name: two to four syllables.
fn is_hangul_name(text: &str) -> bool {
    (2..=4).contains(&text.chars().count()) && text.chars().all(|c| ('가'..='힣').contains(&c))
}

/// Words and signs between two names.
pub fn is_and(text: &str) -> bool {
    let lower = text
        .trim_matches(|c: char| c.is_whitespace())
        .to_lowercase();
    AND.iter().any(|word| word.trim() == lower)
        || matches!(
            lower.as_str(),
            "," | "و" | "、" | "，" | "/" | ", and" | ";"
        )
}

#[cfg(test)]
mod tests {
    use super::super::name;
    use super::*;

    #[test]
    fn lists_of_people_are_divided_by_commas() {
        for (text, expected) in [
            ("Ann Lee; Bo Lim", "Ann Lee, Bo Lim"),
            ("Ann Lee and Bo Lim", "Ann Lee, Bo Lim"),
            ("By Ann Lee & Bo Lim", "Ann Lee, Bo Lim"),
            ("Ann Lee, Bo Lim and Cy Day", "Ann Lee, Bo Lim, Cy Day"),
            ("Ann Lee, Bo Lim, and Cy Day", "Ann Lee, Bo Lim, Cy Day"),
            ("Ann Lee and Bo Lim and Cy Day", "Ann Lee, Bo Lim, Cy Day"),
            ("Ann Lee, PhD; Bo Lim, MD", "Ann Lee, Bo Lim"),
            ("Lee, Ann; Lim, Bo", "Ann Lee, Bo Lim"),
            ("Anna Müller und Bo Lim", "Anna Müller, Bo Lim"),
            ("Amélie Poulain et Jean Petit", "Amélie Poulain, Jean Petit"),
            ("Иван Петров и Анна Смирнова", "Иван Петров, Анна Смирнова"),
            ("山田太郎、佐藤花子", "山田太郎, 佐藤花子"),
            ("홍길동·김철수 기자", "홍길동, 김철수"),
            ("Ann Lee; Ann Lee", "Ann Lee"),
            ("أحمد علي; عبد الرحمن محمود", "أحمد علي, عبد الرحمن محمود"),
            ("राम कुमार; सीता देवी शर्मा", "राम कुमार, सीता देवी शर्मा"),
            ("Weaver Team and Silk Team", "Weaver Team, Silk Team"),
            (
                "Ann Lee; Bo Lim; Cy Day; Di Poe; Ed Roe",
                "Ann Lee, Bo Lim, Cy Day, Di Poe, Ed Roe",
            ),
            ("Ana Silva e João Souza", "Ana Silva, João Souza"),
            (
                "Por Ana Silva, Bia Reis e João Souza",
                "Ana Silva, Bia Reis, João Souza",
            ),
            ("di Marco Rossi e Anna Bianchi", "Marco Rossi, Anna Bianchi"),
            (
                "Door Jan de Vries en Piet Bakker",
                "Jan de Vries, Piet Bakker",
            ),
            ("Anna Nowak i Jan Kowalski", "Anna Nowak, Jan Kowalski"),
            (
                "Matti Virtanen ja Liisa Korhonen",
                "Matti Virtanen, Liisa Korhonen",
            ),
            ("Jan Novák a Petr Svoboda", "Jan Novák, Petr Svoboda"),
            (
                "Νίκος Παππάς και Άννα Λάμπρου",
                "Νίκος Παππάς, Άννα Λάμπρου",
            ),
            ("Andi Wijaya dan Siti Aminah", "Andi Wijaya, Siti Aminah"),
            (
                "Nguyễn Văn An và Trần Thị Bình",
                "Nguyễn Văn An, Trần Thị Bình",
            ),
            ("Nagy Anna és Kis János", "Nagy Anna, Kis János"),
            ("Олег Коваль і Анна Бойко", "Олег Коваль, Анна Бойко"),
            // One name.
            ("Artur Mas i Gavarró", "Artur Mas i Gavarró"),
            ("Maria de Souza e Silva", "Maria de Souza e Silva"),
            ("Dolce e Gabbana", "Dolce e Gabbana"),
            ("A Day in a Web", "A Day in a Web"),
            ("Anna Berg i New York", "Anna Berg"),
            ("Simon & Schuster", "Simon & Schuster"),
            ("Marks and Spencer", "Marks and Spencer"),
            ("José Ortega y Gasset", "José Ortega y Gasset"),
            (
                "Institute of Webs and University of Silk",
                "Institute of Webs and University of Silk",
            ),
            ("bo; ann", "bo; ann"),
        ] {
            assert_eq!(name(text).unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn a_family_name_first_is_turned() {
        for (text, expected) in [
            ("Lee, Ann", Some("Ann Lee")),
            ("van der Weaver, Jan", Some("Jan van der Weaver")),
            ("García Márquez, Ana", Some("Ana García Márquez")),
            ("Lee, A. B.", Some("A. B. Lee")),
            ("Ли, Анна", Some("Анна Ли")),
            ("Ann Lee, PhD", None),
            ("Ann Lee, Jr.", None),
            ("Ann Lee, Editor", None),
            ("Ann Lee", None),
            ("Lee, Ann, Bo", None),
            ("Lee, ", None),
            (", Ann", None),
        ] {
            assert_eq!(inverted(text).as_deref(), expected, "{text}");
        }
    }
}
