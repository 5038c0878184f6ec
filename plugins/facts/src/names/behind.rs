//! What stands behind the names of authors: dates, callings, places, the work of others.

use super::callings::{CALLINGS, HOUSES, OTHER_WORKS, REGIONS, ROLES, ROLES_BEHIND};
use super::people::is_person;
use super::{first_byte, is_legal_form};
use crate::date_meaning::{CHANGED, PUBLISHED};
use crate::dates::{self, Manner};
use crate::text::find;

/// Signs that no name ends with.
const TRAILING: [char; 11] = [',', ';', ':', '|', '·', '(', ' ', '，', '、', '：', '（'];

/// A byline up to what follows the name: a date, a bar, the word "on" or "Updated".
pub fn cut(text: &str) -> &str {
    const ENDS: &[&str] = &[
        " | ",
        " · ",
        " • ",
        " – ",
        " — ",
        " - ",
        " // ",
        "／",
        "｜",
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
        if let Some(at) = find(text, mark).filter(|at| *at > 0) {
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
    end = end.min(before_minutes(text).len());
    let text = text.get(..end).unwrap_or(text);
    let date = dates::find(text, Manner::of("")).filter(|found| found.start > 0);
    let text = date
        .and_then(|found| text.get(..found.start))
        .unwrap_or(text);
    let text = before_dates(text).trim().trim_end_matches(TRAILING);
    let text = before_place(before_works(text));
    text.trim_end_matches(TRAILING)
}

/// A byline up to how long it takes to read: "Ann Lee 5 min read".
fn before_minutes(text: &str) -> &str {
    let Some((before, _)) = text.split_once("min") else {
        return text;
    };
    let number = before.trim_end_matches([' ', '-', '\u{a0}']);
    let name = number.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.len() < number.len() && name.ends_with(' ') && !name.trim().is_empty() {
        name
    } else {
        text
    }
}

/// A byline up to the work of others: "Ann Lee. Photographs by Bo Lim", "Ann Lee, Fotos: Bo Lim".
fn before_works(text: &str) -> &str {
    // Asked of each mark's rest.
    let last = text.rfind([' ', ':']);
    for (at, mark) in text.char_indices() {
        if at == 0 || !matches!(mark, '.' | ',' | ';' | ':' | '(') {
            continue;
        }
        let behind = text.get(at + 1..).unwrap_or("").trim_start();
        // Photographers are named so in all these languages; a name may begin so, too.
        let begins = OTHER_WORKS.iter().any(|word| begins_with(behind, word));
        if begins && last >= Some(text.len() - behind.len()) {
            return text.get(..at).unwrap_or(text);
        }
    }
    text
}

/// A byline up to where the author is, or for whom: "Jane Doe in London", "Jane Doe for The Weaver".
fn before_place(text: &str) -> &str {
    /// Words of a place or a house.
    const MOST: usize = 4;
    const WORDS: &[&str] = &[
        " in ", " at ", " à ", " em ", " aus ", " from ", " for ", " für ", " pour ", " para ",
    ];
    for word in WORDS {
        let Some((name, place)) = text.split_once(word) else {
            continue;
        };
        let mut words = place.split(' ');
        let is_place =
            words.all(|w| w.starts_with(char::is_uppercase)) && place.split(' ').count() <= MOST;
        // Only a house is worked for: "Royal Society for Public Health" is one name.
        let is_purpose = matches!(*word, " for " | " für " | " pour " | " para ");
        if is_place && is_person(name) && (!is_purpose || tells_of_person(place, name)) {
            return name;
        }
    }
    text
}

/// Whether a text begins with these letters, in whatever case.
fn begins_with(text: &str, lower: &str) -> bool {
    let mut letters = text.chars().flat_map(char::to_lowercase);
    lower.chars().all(|c| letters.next() == Some(c))
}

/// A name without what tells of the person: "Ann Lee, PhD", "Ann Lee (Reuters)", "홍길동 기자".
pub fn without_role(text: &str) -> String {
    /// Parts that are taken off: brackets, an address, a calling.
    const MOST: usize = 4;
    let mut text = text.trim();
    for _ in 0..MOST {
        match without_last(text) {
            Some(rest) => text = rest,
            None => break,
        }
    }
    let Some((first, rest)) = text.split_once(", ") else {
        return text.to_owned();
    };
    // Of "Lee, Ann" both are needed, and of "The Weaver, Inc."; scripts without capitals do not tell
    // names from callings.
    if !is_person(first)
        || !first.contains(char::is_uppercase)
        || tells_of_person(first, "")
        || rest.split(", ").any(is_legal_form)
    {
        return text.to_owned();
    }
    let mut name = first.to_owned();
    for part in rest.split(", ") {
        if is_generation(part) {
            name.push(' ');
        } else if is_person(part) && !tells_of_person(part, first) {
            name.push_str(", ");
        } else {
            break;
        }
        name.push_str(part);
    }
    name
}

/// A name without its last part, if that is in brackets, an address, or a calling.
fn without_last(text: &str) -> Option<&str> {
    let brackets = [
        ('(', ')'),
        ('（', '）'),
        ('[', ']'),
        ('［', '］'),
        ('【', '】'),
    ];
    for (opening, closing) in brackets {
        let Some((before, inside)) = text
            .strip_suffix(closing)
            .and_then(|t| t.rsplit_once(opening))
        else {
            continue;
        };
        let before = before.trim_end();
        // "ann@example.org (Ann Lee)", as in feeds.
        let is_login = super::is_mail(before) || !before.contains(char::is_alphabetic);
        let inside = super::strip_introduction(inside).unwrap_or(inside);
        let kept = if is_login && is_person(inside) {
            inside
        } else if is_of_person(inside) {
            before
        } else {
            return None;
        };
        return (!kept.is_empty()).then_some(kept);
    }
    if let Some((before, last)) = text.rsplit_once(' ') {
        let before = before.trim_end_matches([',', ';', '-', '–', '|', ' ']);
        let is_calling = ROLES_BEHIND.iter().any(|role| last.ends_with(role))
            // "선임기자" is one word with what it is of.
            && last.chars().count() <= 8;
        if super::is_mail(last) || is_calling {
            return (!before.is_empty()).then_some(before);
        }
    }
    // `山田太郎記者`: what is left is a name and not "our own".
    let behind = ROLES_BEHIND
        .iter()
        .find_map(|role| text.strip_suffix(role))?;
    let letters = behind.chars().count();
    let is_own = [
        "本報", "本报", "本社", "本紙", "特約", "特约", "見習", "见习", "실습", "인턴",
    ]
    .contains(&behind);
    ((2..=5).contains(&letters) && !is_own && !behind.contains(' ')).then_some(behind)
}

/// Whether a text in brackets behind a name is none: a calling, a house, its letters for the author.
/// "Ann Lee (Weaver)" may be called so.
fn is_of_person(text: &str) -> bool {
    const AGENCIES: &[&str] = &[
        "reuters",
        "bloomberg",
        "ap",
        "afp",
        "dpa",
        "efe",
        "ansa",
        "pap",
    ];
    let lower = text.to_lowercase();
    let is_code = text.len() <= 5 && text == lower && text.is_ascii();
    is_code
        || AGENCIES.contains(&lower.as_str())
        || lower.contains("www.")
        || super::is_mail(text)
        || ROLES_BEHIND.iter().any(|role| text.ends_with(role))
        || OTHER_WORKS.iter().any(|word| lower.starts_with(word))
        || tells_of_person(text, "a")
}

/// Whether a part behind a name continues it: "Martin Lee, Jr."
fn is_generation(part: &str) -> bool {
    matches!(part, "Jr" | "Jr." | "Sr" | "Sr." | "II" | "III" | "IV")
}

/// Whether a part behind the name of a person tells of the person: a calling, a house, a place of
/// several words, a degree.
pub fn tells_of_person(part: &str, name: &str) -> bool {
    let shouts = |text: &str| !text.contains(char::is_lowercase);
    let lower = part.to_lowercase();
    let mut words = lower.split(' ');
    let is_known = |word: &str| {
        HOUSES.contains(&word)
            || CALLINGS.contains(&word)
            || ROLES.iter().any(|role| word.starts_with(role))
    };
    let is_region = |word: &str| REGIONS.contains(&word);
    if words.clone().next().is_some_and(is_region) || words.any(is_known) {
        return true;
    }
    // "BBC", "RDN": not where all of the names are written so. "JD Vance" and "Robert Brown III" are
    // names.
    let least = if part.contains(' ') { 3 } else { 2 };
    let is_short = |word: &str| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters >= least && !word.contains('.') && shouts(word) && !is_generation(word)
    };
    !shouts(name) && part.split(' ').any(is_short)
}

/// Whether a text begins with a word of names of houses that begins like "published".
fn is_of_name(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphabetic()).next();
    let words = [
        "public",
        "publics",
        "publique",
        "publiques",
        "publisher",
        "publishers",
        "publishing",
        "publication",
        "publications",
    ];
    word.is_some_and(|word| words.contains(&word))
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
        if words.any(|word| first_byte(word) == first && tail.starts_with(word))
            && !is_of_name(tail)
        {
            return text.get(..at).unwrap_or(text);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::name;

    #[test]
    fn what_tells_of_a_person_is_no_part_of_the_name() {
        for (text, expected) in [
            ("Ann Lee, Senior Editor", "Ann Lee"),
            ("Ann Lee, senior editor", "Ann Lee"),
            ("Ann Lee, PhD", "Ann Lee"),
            ("Jane Doe, M.D., Ph.D.", "Jane Doe"),
            ("Jane Doe, MS, RDN", "Jane Doe"),
            ("By Ann Lee, BBC News, Berlin", "Ann Lee"),
            ("Ann Lee, The New Weaver", "Ann Lee"),
            ("Ann Lee, Weaver News", "Ann Lee"),
            ("Ann Lee, AP Sports Writer", "Ann Lee"),
            ("Anna Müller, Berlin", "Anna Müller"),
            ("Anna Müller, Redakteurin", "Anna Müller"),
            ("Von Anna Müller, dpa", "Anna Müller"),
            ("Par Amélie Poulain, journaliste", "Amélie Poulain"),
            ("Ana Ruiz, corresponsal en Lima", "Ana Ruiz"),
            ("Иван Петров, корреспондент", "Иван Петров"),
            ("By Ann Lee. Photographs by Bo Lim", "Ann Lee"),
            ("Ann Lee, Photos: Bo Lim", "Ann Lee"),
            ("Anna Müller; Fotos: Bo Lim", "Anna Müller"),
            ("By Ann Lee. Translated by Bo Lim", "Ann Lee"),
            ("Ann Lee (photos by Bo Lim)", "Ann Lee"),
            ("Jane Doe in London", "Jane Doe"),
            ("By Jane Doe in New York", "Jane Doe"),
            ("Von Anna Müller aus Berlin", "Anna Müller"),
            ("By Jane Doe for The Weaver", "Jane Doe"),
            ("Anna Berg och Staffan Lind", "Anna Berg, Staffan Lind"),
            ("Ann Lee and Tom Stafford", "Ann Lee, Tom Stafford"),
            ("Ali Kaya ve Nursel Demir", "Ali Kaya, Nursel Demir"),
            ("Ann Lee and Dominic West", "Ann Lee, Dominic West"),
            ("Ann Lee, JD Vance", "Ann Lee, JD Vance"),
            ("Ann Lee and Robert Brown III", "Ann Lee, Robert Brown III"),
            ("Ann Lee, Jean d'Ormesson", "Ann Lee, Jean d'Ormesson"),
            ("Jane Doe (Reuters)", "Jane Doe"),
            ("Jane Doe (jdo)", "Jane Doe"),
            ("Weaver Radio (www.weaver.example)", "Weaver Radio"),
            ("Jane Doe (staff writer)", "Jane Doe"),
            ("(编辑：文静)", "文静"),
            ("Ann Lee, Do UOL, em Porto Alegre", "Ann Lee"),
            ("Ann Lee, Master Weaver & Garden Educator", "Ann Lee"),
            ("Ann Lee jane@example.org", "Ann Lee"),
            ("jane@example.org (Jane Doe)", "Jane Doe"),
            ("홍길동 기자", "홍길동"),
            ("홍길동 선임기자", "홍길동"),
            ("홍길동 기자 hong@example.kr", "홍길동"),
            ("홍길동기자", "홍길동"),
            ("山田 太郎（記者）", "山田 太郎"),
            ("山田太郎記者", "山田太郎"),
            ("記者陳大文／台北報導", "陳大文"),
            // These are parts of names.
            (
                "Royal Society for Public Health",
                "Royal Society for Public Health",
            ),
            (
                "Deutsche Gesellschaft für Ernährung",
                "Deutsche Gesellschaft für Ernährung",
            ),
            ("Martin Lee, Jr.", "Martin Lee Jr."),
            ("Ann Lee (SilkWorm)", "Ann Lee (SilkWorm)"),
            ("Weaver Travel Editor, SMT", "Weaver Travel Editor, SMT"),
            ("Lee, Ann", "Lee, Ann"),
            ("أحمد علي, عبد الرحمن محمود", "أحمد علي, عبد الرحمن محمود"),
            ("J. R. R. Weaver", "J. R. R. Weaver"),
            ("Ann Lee, Bo Lim", "Ann Lee, Bo Lim"),
            ("Ann Lee, Bo Lim, BBC News", "Ann Lee, Bo Lim"),
            ("ANN LEE, BO LIM", "ANN LEE, BO LIM"),
            ("Women in Tech", "Women in Tech"),
            ("Inga Für", "Inga Für"),
            ("Department of Webs, Berlin", "Department of Webs, Berlin"),
            ("本報記者", "本報記者"),
            ("orb_weaver42", "orb_weaver42"),
            ("Ludwig van der Weaver", "Ludwig van der Weaver"),
            ("Dr. Jane Doe", "Dr. Jane Doe"),
            ("Photo Ann", ""),
        ] {
            assert_eq!(name(text).unwrap_or_default(), expected, "{text}");
        }
    }
}
