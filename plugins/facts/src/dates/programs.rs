//! Dates that programs write with the English names of months.

use super::months::month;
use super::stamp::at_time;

/// The forms that no text for readers has: C's `ctime`, Java's and Ruby's `Date`, which have the year
/// last, and RFC 822 with its year of two digits. All else is found as in a text.
pub fn read(value: &str) -> Option<String> {
    /// Parts of a date.
    const MOST: usize = 8;
    let parts: Vec<&str> = value.split_ascii_whitespace().take(MOST).collect();
    let parts = match parts.as_slice() {
        [weekday, rest @ ..] if is_weekday(weekday) => rest,
        rest => rest,
    };
    match parts {
        [name, day, time, year] | [name, day, time, _, year] if is_time(time) => {
            let zone = match parts {
                [_, _, _, zone, _] => *zone,
                _ => "",
            };
            let year: u32 = Some(year).filter(|year| year.len() == 4)?.parse().ok()?;
            of(year, name, day, &format!("{time} {zone}"))
        }
        [day, name, year, time, rest @ ..] if year.len() == 2 && is_time(time) => {
            let year: u32 = year.parse().ok()?;
            // As RFC 2822 reads them.
            let year = if year < 50 { 2000 + year } else { 1900 + year };
            of(
                year,
                name,
                day,
                &format!("{time} {}", rest.first().unwrap_or(&"")),
            )
        }
        _ => None,
    }
}

/// A day with the time of day behind it, if there is one: `, 10:00`, ` at 10:00 pm`.
pub fn with_time_behind(date: String, behind: &str) -> String {
    /// `YYYY-MM-DD`; a longer one has its time.
    const DAY: usize = 10;
    if date.len() != DAY {
        return date;
    }
    let is_mark = |c: char| c.is_whitespace() || matches!(c, ',' | '@' | '-' | '–' | '|' | '·');
    let behind = behind.trim_start_matches(is_mark);
    let time = behind.strip_prefix("at ").unwrap_or(behind);
    let time = time.trim_start_matches(is_mark);
    if !is_time(time.split([' ', '+', '-']).next().unwrap_or(time)) {
        return date;
    }
    at_time(&date, time).unwrap_or(date)
}

fn of(year: u32, name: &str, day: &str, time: &str) -> Option<String> {
    /// No page is older, and what has such a year is no date.
    const EARLIEST: u32 = 1985;
    let month = month(&name.to_lowercase(), "en")?;
    let day: u32 = day.trim_end_matches(',').parse().ok()?;
    if year < EARLIEST || day > 31 {
        return None;
    }
    at_time(&format!("{year:04}-{month:02}-{day:02}"), time)
}

fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    word.get(..3)
        .is_some_and(|start| DAYS.iter().any(|day| day.eq_ignore_ascii_case(start)))
        && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b',')
}

/// Whether a text begins with hours, a colon and minutes.
fn is_time(text: &str) -> bool {
    let hours = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.as_bytes().get(hours..).unwrap_or_default();
    (1..=2).contains(&hours)
        && matches!(rest, [b':', a, b, ..] if a.is_ascii_digit() && b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::{Manner, read};

    #[test]
    fn times_are_read_from_what_programs_write() {
        for (value, expected) in [
            // RFC 2822, RFC 822, RFC 850.
            (
                "Tue, 05 Mar 2024 10:00:00 +0100",
                "2024-03-05T10:00:00+01:00",
            ),
            ("Tue, 5 Mar 2024 10:00 GMT", "2024-03-05T10:00Z"),
            ("05 Mar 2024 10:00:00 -0500", "2024-03-05T10:00:00-05:00"),
            ("Tue, 05 Mar 2024 10:00:00 EST", "2024-03-05T10:00:00-05:00"),
            ("Tue, 05 Mar 24 10:00:00 +0100", "2024-03-05T10:00:00+01:00"),
            ("Tuesday, 05-Mar-24 10:00:00 GMT", "2024-03-05T10:00:00Z"),
            // Browsers, C, Java, Ruby.
            (
                "Tue Mar 05 2024 10:00:00 GMT+0100 (Central European Standard Time)",
                "2024-03-05T10:00:00+01:00",
            ),
            ("Tue Mar  5 10:00:00 2024", "2024-03-05T10:00:00"),
            ("Tue Mar 05 10:00:00 CET 2024", "2024-03-05T10:00:00+01:00"),
            ("Tue Mar 05 10:00:00 CST 2024", "2024-03-05T10:00:00"),
            (
                "Tue Mar 05 10:00:00 +0000 2024",
                "2024-03-05T10:00:00+00:00",
            ),
            // Of no program in particular.
            ("March 5, 2024 10:00 AM", "2024-03-05T10:00"),
            ("Mar 5, 2024, 9:05 pm EST", "2024-03-05T21:05-05:00"),
            ("March 5, 2024 at 10:00", "2024-03-05T10:00"),
            ("on Friday December 19, 2025 @08:00PM", "2025-12-19T20:00"),
            ("05.03.2024 10:00", "2024-03-05T10:00"),
            ("05.03.2024, 10:00:30", "2024-03-05T10:00:30"),
            ("2024年3月5日 10:00", "2024-03-05T10:00"),
            ("2024-03-05 10:00:00 +0000 UTC", "2024-03-05T10:00:00+00:00"),
            // No time of day.
            ("Tue, 05 Mar 2024", "2024-03-05"),
            ("March 5, 2024 99:00", "2024-03-05"),
            ("March 5, 2024 4:3 won", "2024-03-05"),
            ("March 5, 2024 10 comments", "2024-03-05"),
            ("March 5, 2024 – 10-year plan", "2024-03-05"),
        ] {
            let found = read(value, Manner::of("de"));
            assert_eq!(found.as_deref(), Some(expected), "{value}");
        }
        for value in [
            "Tue Mar 05 10:00:00 CET",
            "Tue Mar 99 10:00:00 2024",
            "Tue Mar 05 10:00:00 0001",
            "05 é 24 10:00",
            "",
        ] {
            assert_eq!(read(value, Manner::of("en")), None, "{value}");
        }
    }
}
