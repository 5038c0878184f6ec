//! Dates that people write, found in a text.

mod calendars;
mod numbers;

use super::Manner;
use super::months::month;
use super::stamp::{is_date, iso};
use calendars::{month_of_two, of_era, solar};
use numbers::{numbers, short_year};

pub use calendars::is_solar;

/// How much of a text is searched, in bytes.
const MAX_BYTES: usize = 400;
/// Most pieces of a text.
const MAX_PIECES: usize = 80;
/// Years that a date in running text may be of. Others are rather numbers of another kind.
const YEARS: std::ops::RangeInclusive<u32> = 1985..=2099;
/// How much later the Buddhist calendar counts.
const BUDDHIST: u32 = 543;

/// A date found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// `YYYY-MM-DD`, with a time where the text has one in ISO 8601.
    pub date: String,
    /// Bytes of the text before the date.
    pub start: usize,
    /// Bytes up to its end.
    pub end: usize,
}

/// The first date in the first bytes of a text.
pub fn find(text: &str, manner: Manner<'_>) -> Option<Found> {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text.get(..end)?;
    let pieces = pieces(text);
    (0..pieces.len()).find_map(|at| {
        let rest = pieces.get(at..)?;
        stamp(text, rest)
            .or_else(|| of_era(rest).or_else(|| marked(rest)))
            .or_else(|| solar(rest, manner))
            .or_else(|| named(rest, manner))
            .or_else(|| numbers(rest, manner))
    })
}

/// A run of digits or of letters, and what stands before it.
#[derive(Clone, Debug)]
struct Piece<'t> {
    start: usize,
    end: usize,
    /// White space and marks between the piece before and this one.
    gap: &'t str,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Value and count of digits, of any script.
    Number(u32, usize),
    /// In lower case; a dot after it belongs to the gap.
    Word(String),
}

impl Piece<'_> {
    fn number(&self) -> Option<(u32, usize)> {
        match self.kind {
            Kind::Number(value, digits) => Some((value, digits)),
            Kind::Word(_) => None,
        }
    }

    fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            Kind::Number(..) => None,
        }
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found: Vec<Piece<'_>> = Vec::new();
    let mut chars = text.char_indices().peekable();
    let mut gap_from = 0;
    while let Some(&(start, c)) = chars.peek() {
        if found.len() == MAX_PIECES {
            break;
        }
        let class = class(c);
        if class == Class::Gap {
            chars.next();
            continue;
        }
        let mut end = start;
        let (mut value, mut digits) = (0u32, 0);
        while let Some(&(at, c)) = chars.peek() {
            // Thai shortens months with dots inside.
            let inner_dot = c == '.' && class == Class::Thai && next_is_thai(text, at);
            if self::class(c) != class && !inner_dot {
                break;
            }
            if class == Class::Digit {
                value = value
                    .saturating_mul(10)
                    .saturating_add(digit(c).unwrap_or(0));
                digits += 1;
            }
            end = at + c.len_utf8();
            chars.next();
        }
        let gap = text.get(gap_from..start).unwrap_or("");
        gap_from = end;
        let kind = match class {
            Class::Digit => Kind::Number(value, digits),
            _ => Kind::Word(text.get(start..end).unwrap_or("").to_lowercase()),
        };
        found.push(Piece {
            start,
            end,
            gap,
            kind,
        });
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Letter,
    /// One word each: these scripts put no spaces between words.
    Ideograph(char),
    Thai,
    Gap,
}

fn class(c: char) -> Class {
    match c {
        _ if digit(c).is_some() => Class::Digit,
        '年' | '月' | '日' | '년' | '월' | '일' => Class::Ideograph(c),
        '\u{e01}'..='\u{e4e}' => Class::Thai,
        // Signs and marks that are part of words: vowels of Indic scripts, apostrophes not.
        _ if c.is_alphabetic() || is_mark(c) => Class::Letter,
        _ => Class::Gap,
    }
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{5b0}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{93c}'..='\u{94d}'
        | '\u{9bc}'..='\u{9cd}' | '\u{a3c}'..='\u{a4d}' | '\u{abc}'..='\u{acd}' | '\u{bbe}'..='\u{bcd}'
        | '\u{c3e}'..='\u{c4d}' | '\u{cbc}'..='\u{ccd}' | '\u{d3e}'..='\u{d4d}' | '\u{dca}'..='\u{ddf}'
        | '\u{eb0}'..='\u{ecd}' | '\u{102b}'..='\u{103e}' | '\u{17b6}'..='\u{17d3}')
}

fn next_is_thai(text: &str, at: usize) -> bool {
    text.get(at + 1..)
        .and_then(|rest| rest.chars().next())
        .is_some_and(|c| class(c) == Class::Thai)
}

/// The value of a decimal digit of any script that dates are written in.
fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    let zero = match code {
        0x30..=0x39 => 0x30,
        0x660..=0x669 => 0x660,
        0x6f0..=0x6f9 => 0x6f0,
        0x966..=0x96f => 0x966,
        0x9e6..=0x9ef => 0x9e6,
        0xe50..=0xe59 => 0xe50,
        0x1040..=0x1049 => 0x1040,
        0xff10..=0xff19 => 0xff10,
        _ => return None,
    };
    Some(code - zero)
}

/// The date of these numbers, if it is one.
fn date(year: u32, month: u32, day: u32, first: &Piece<'_>, last: &Piece<'_>) -> Option<Found> {
    let year = if YEARS.contains(&year) {
        year
    } else {
        year.checked_sub(BUDDHIST)?
    };
    (YEARS.contains(&year) && is_date(year, month, day)).then(|| Found {
        date: format!("{year:04}-{month:02}-{day:02}"),
        start: first.start,
        end: last.end,
    })
}

/// ISO 8601 within a text.
fn stamp(text: &str, rest: &[Piece<'_>]) -> Option<Found> {
    let [first, month, day, ..] = rest else {
        return None;
    };
    let shaped = first.number()?.1 == 4
        && month.number().is_some()
        && day.number().is_some()
        && month.gap == day.gap
        && matches!(month.gap, "-" | "/" | ".");
    if !shaped || !YEARS.contains(&first.number()?.0) {
        return None;
    }
    // A time may follow, up to white space; with a space between only where it has colons.
    let tail = text.get(first.start..)?;
    let stop = tail
        .find(|c: char| c.is_whitespace() || c == ')')
        .unwrap_or(tail.len());
    let date = iso(tail.get(..stop)?)?;
    Some(Found {
        date,
        start: first.start,
        end: first.start + stop,
    })
}

/// `2024年3月14日`, `2024년 3월 14일`, and Vietnamese `14 tháng 3, 2024`.
fn marked(rest: &[Piece<'_>]) -> Option<Found> {
    if let [year, y, month, m, day, d, ..] = rest
        && matches!(
            (y.word(), m.word(), d.word()),
            (Some("年"), Some("月"), Some("日")) | (Some("년"), Some("월"), Some("일"))
        )
    {
        let value = match year.number()? {
            // Of Japanese and Chinese eras there are years of two digits, too.
            (value, 2) if y.word() == Some("년") => short_year(value),
            (value, _) => value,
        };
        return date(value, month.number()?.0, day.number()?.0, year, d);
    }
    let [day, word, month, more @ ..] = rest else {
        return None;
    };
    if word.word() != Some("tháng") {
        return None;
    }
    let year = more
        .iter()
        .take(2)
        .find(|piece| piece.number().is_some_and(|(_, n)| n == 4))?;
    date(
        year.number()?.0,
        month.number()?.0,
        day.number()?.0,
        day,
        year,
    )
}

/// Dates with the name of a month: day, month, year in any order that is used. Short words may
/// stand between (`14 de marzo de 2024`, `March the 14th, 2024`).
fn named(rest: &[Piece<'_>], manner: Manner<'_>) -> Option<Found> {
    /// Pieces that one date has at most.
    const SPAN: usize = 7;
    let first = rest.first()?;
    // A date begins with a number or with the month itself.
    if let Some(word) = first.word()
        && month(word, manner.language).is_none()
    {
        return None;
    }
    let mut name = None;
    let mut day = None;
    let mut year = None;
    if let Some(found) = with_time_inside(rest, manner) {
        return Some(found);
    }
    for (at, piece) in rest.iter().take(SPAN).enumerate() {
        if piece.gap.contains(['\n', '|', '·', '•']) && piece.start != first.start {
            return None;
        }
        match &piece.kind {
            Kind::Number(value, 4) if year.is_none() => year = Some(*value),
            Kind::Number(value, 1 | 2) if day.is_none() => day = Some(*value),
            // A two-digit year after the day and the month: `14 Mar '24`.
            Kind::Number(value, 2)
                if year.is_none() && name.is_some() && piece.gap.contains(['\'', '’', '-']) =>
            {
                year = Some(2000 + value);
            }
            Kind::Number(..) => return None,
            Kind::Word(word) => match month(word, manner.language).filter(|_| name.is_none()) {
                Some(found) => name = Some(u32::from(found)),
                None if is_between(word) => {}
                None => {
                    name = Some(month_of_two(word, rest.get(at + 1)).filter(|_| name.is_none())?)
                }
            },
        }
        if let (Some(month), Some(day), Some(year)) = (name, day, year) {
            return date(year, month, day, first, piece);
        }
    }
    None
}

/// `Apr 28 19:20:36 CEST 2023`, as C's `ctime` and Java's `Date` write it.
fn with_time_inside(rest: &[Piece<'_>], manner: Manner<'_>) -> Option<Found> {
    let [name, day, hour, minute, second, more @ ..] = rest else {
        return None;
    };
    let shaped = minute.gap == ":" && second.gap == ":" && hour.number().is_some();
    let month = month(name.word()?, manner.language)?;
    let (day, _) = day.number()?;
    let year = match more {
        [zone, year, ..] if zone.word().is_some() => year,
        [year, ..] => year,
        [] => return None,
    };
    let (value, digits) = year.number()?;
    let plain = digits == 4 && year.gap.trim().is_empty();
    (shaped && plain).then(|| date(value, u32::from(month), day, name, year))?
}

/// Words within a date: articles, "of", endings of numerals, "year" and the like.
fn is_between(word: &str) -> bool {
    matches!(
        word,
        "st" | "nd"
            | "rd"
            | "th"
            | "of"
            | "the"
            | "de"
            | "del"
            | "do"
            | "d"
            | "di"
            | "da"
            | "er"
            | "ter"
            | "º"
            | "ª"
            | "o"
            | "a"
            | "m"
            | "gada"
            | "g"
            | "года"
            | "р"
            | "року"
            | "г"
            | "год"
            | "év"
            | "ko"
            | "e"
            | "ngày"
            | "año"
            | "ο"
            | "η"
            | "พ"
            | "ศ"
            | "เดือน"
            | "ปี"
            | "وال"
            | "من"
            | "الأول"
            | "الاول"
            | "الثاني"
            | "tháng"
            | "năm"
            | "den"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str, language: &str) -> Option<String> {
        find(text, Manner::of(language)).map(|found| found.date)
    }

    #[test]
    fn dates_are_read_in_many_languages() {
        for (language, text) in [
            ("en", "March 14, 2024"),
            ("en", "Mar. 14th 2024"),
            ("en-GB", "Thursday 14 March 2024"),
            ("en", "14th of March, 2024"),
            ("en", "14-Mar-2024"),
            ("en", "Thu Mar 14 19:20:36 CET 2024"),
            ("en", "Thu Mar 14 19:20:36 2024"),
            ("en", "14 Mar '24"),
            ("en", "3/14/2024"),
            ("en-GB", "14/03/2024"),
            ("de", "Donnerstag, 14. März 2024, 10:15 Uhr"),
            ("de", "14.03.2024"),
            ("de", "14.3.24"),
            ("fr", "Publié le 14 mars 2024 à 10h15"),
            ("fr", "14/03/2024"),
            ("es", "14 de marzo de 2024"),
            ("pt-BR", "14 de março de 2024"),
            ("ca", "14 de març de 2024"),
            ("it", "14 marzo 2024"),
            ("nl", "14 maart 2024"),
            ("sv", "den 14 mars 2024"),
            ("da", "14. marts 2024"),
            ("fi", "14. maaliskuuta 2024"),
            ("pl", "14 marca 2024 r."),
            ("cs", "14. března 2024"),
            ("hr", "14. ožujka 2024."),
            ("hu", "2024. március 14."),
            ("lt", "2024 m. kovo 14 d."),
            ("lv", "2024. gada 14. marts"),
            ("ro", "14 martie 2024"),
            ("ru", "14 марта 2024 г."),
            ("uk", "14 березня 2024 року"),
            ("bg", "14 март 2024 г."),
            ("el", "14 Μαρτίου 2024"),
            ("tr", "14 Mart 2024 Perşembe"),
            ("id", "14 Maret 2024"),
            ("vi", "14 tháng 3, 2024"),
            ("he", "14 במרץ 2024"),
            ("ar", "١٤ مارس ٢٠٢٤"),
            ("hi", "14 मार्च 2024"),
            ("bn", "১৪ মার্চ ২০২৪"),
            ("th", "14 มีนาคม 2567"),
            ("th", "14 มี.ค. 2567"),
            ("ja", "2024年3月14日（木）"),
            ("zh", "发布于 2024年03月14日 10:00"),
            ("zh", "2024-03-14 10:00"),
            ("ko", "2024년 3월 14일"),
            ("ko", "2024. 3. 14."),
            ("sr", "14. март 2024."),
            ("", "2024/03/14"),
        ] {
            assert_eq!(
                day(text, language).as_deref(),
                Some("2024-03-14"),
                "{language}: {text}"
            );
        }
    }

    #[test]
    fn a_date_is_found_within_a_text_with_its_place() {
        let text = "By Ann | Updated March 14, 2024 at noon";
        let found = find(text, Manner::of("en")).expect("a date");
        assert_eq!(text.get(found.start..found.end), Some("March 14, 2024"));
        let found = find("on 2024-03-14T10:00:00Z by Ann", Manner::of("en")).expect("a date");
        assert_eq!(found.date, "2024-03-14T10:00:00Z");
    }

    #[test]
    fn what_is_no_date_is_left_alone() {
        for text in [
            "",
            "2024",
            "March 2024",
            "Chapter 3.14.15",
            "1.2.3",
            "Version 10.12.2",
            "555-12-2024",
            "May I?",
            "14 people in March",
            "32 March 2024",
            "March 14, 1066",
            "2024-02-30",
            "99/99/2024",
            "12 13 14",
            "mar",
            "Top 10 of 2024",
            "١٤",
            "3/14",
            "年月日",
        ] {
            assert_eq!(day(text, "en"), None, "{text}");
        }
    }

    #[test]
    fn a_long_text_is_searched_only_at_its_beginning() {
        let late = format!("{} March 14, 2024", "word ".repeat(200));
        assert_eq!(day(&late, "en"), None);
        // The cut falls between characters.
        assert_eq!(day(&"é".repeat(1000), "en"), None);
    }
}
