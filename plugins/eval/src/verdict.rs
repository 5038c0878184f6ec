//! Comparing a value with the true one.

use crate::metric;

/// F1 of two values' words above which they are near.
const NEAR: f64 = 0.8;

/// How an answer compares with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same but for case, white space, quotes and dashes; dates: the same day.
    Equal,
    /// Most words are the same; dates: a day apart (time zones).
    Near,
    /// Something else.
    Wrong,
    /// No answer.
    Missing,
    /// An answer where the set knows none.
    Surplus,
    /// Neither the set nor the answer has one.
    Neither,
}

/// Compares an answer with the truth of a fact.
pub fn verdict(fact: &str, truth: Option<&str>, answer: Option<&str>) -> Verdict {
    let (truth, answer) = match (truth, answer) {
        (Some(truth), Some(answer)) => (truth, answer),
        (Some(_), None) => return Verdict::Missing,
        (None, Some(_)) => return Verdict::Surplus,
        (None, None) => return Verdict::Neither,
    };
    if matches!(fact, "published" | "modified") {
        return match (day(truth), day(answer)) {
            (Some(a), Some(b)) if a == b => Verdict::Equal,
            (Some(a), Some(b)) if (a - b).abs() == 1 => Verdict::Near,
            _ => Verdict::Wrong,
        };
    }
    if fact == "language" {
        let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or(tag).to_lowercase();
        return if primary(truth) == primary(answer) {
            Verdict::Equal
        } else {
            Verdict::Wrong
        };
    }
    let (mut truth, mut answer) = (normal(truth), normal(answer));
    if fact == "author" {
        (truth, answer) = (listed(&truth), listed(&answer));
    }
    if truth == answer {
        Verdict::Equal
    } else if metric::words(&truth, &answer).f1() >= NEAR {
        Verdict::Near
    } else {
        Verdict::Wrong
    }
}

/// A list of authors with commas in place of words: both ways are in use.
fn listed(names: &str) -> String {
    let signs = [", and ", " and ", " & ", "; "].into_iter();
    signs.fold(names.to_owned(), |names, sign| names.replace(sign, ", "))
}

/// A text without differences that nobody sees.
fn normal(text: &str) -> String {
    let text: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}'))
        .map(|c| match c {
            '‘' | '’' | 'ʼ' | '`' => '\'',
            '“' | '”' | '„' => '"',
            '‐'..='―' | '−' => '-',
            c => c,
        })
        .collect();
    text.replace('…', "...")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The day that an ISO 8601 date begins with, as a count of days.
pub fn day(text: &str) -> Option<i64> {
    let bytes = text.trim().as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let dashes = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    if !dashes || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the proleptic Gregorian calendar (Howard Hinnant, "days_from_civil").
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_tell_equal_near_wrong_and_missing_apart() {
        use Verdict::{Equal, Missing, Near, Neither, Surplus, Wrong};
        let cases = [
            (
                "title",
                Some("What’s new — today"),
                Some("what's  new - Today"),
                Equal,
            ),
            (
                "title",
                Some("One two three four five"),
                Some("One two three four five six"),
                Near,
            ),
            (
                "title",
                Some("One two"),
                Some("One two | Three four"),
                Wrong,
            ),
            (
                "author",
                Some("Ann Lee, Bo Lim, and Cy Day"),
                Some("Ann Lee, Bo Lim, Cy Day"),
                Equal,
            ),
            ("author", Some("Ann and Bo"), Some("Ann, Bo"), Equal),
            ("title", Some("Ann and Bo"), Some("Ann, Bo"), Near),
            ("author", Some("A"), None, Missing),
            ("author", None, Some("A"), Surplus),
            ("author", None, None, Neither),
            (
                "published",
                Some("2024-02-29"),
                Some("2024-02-29T23:00:00Z"),
                Equal,
            ),
            (
                "published",
                Some("2024-03-01"),
                Some("2024-02-29T23:00:00Z"),
                Near,
            ),
            ("published", Some("2023-12-31"), Some("2024-01-01"), Near),
            ("published", Some("2024-02-29"), Some("Feb 29, 2024"), Wrong),
            ("language", Some("pt-BR"), Some("pt"), Equal),
            ("language", Some("no"), Some("da"), Wrong),
        ];
        for (fact, truth, answer, expected) in cases {
            assert_eq!(
                verdict(fact, truth, answer),
                expected,
                "{fact}: {truth:?} {answer:?}"
            );
        }
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        let days = [
            "1970-01-01",
            "2000-02-28",
            "2000-02-29",
            "2000-03-01",
            "2100-03-01",
        ]
        .map(|d| day(d).expect("a day"));
        assert_eq!(
            days.map(|d| d - days[0]),
            [0, 11_015, 11_016, 11_017, 47_541]
        );
        for wrong in [
            "",
            "2024",
            "2024-13-01",
            "2024-1-1",
            "01-01-2024",
            "20240101",
        ] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }
}
