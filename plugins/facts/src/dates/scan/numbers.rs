//! Dates of numbers alone.

use super::super::stamp::is_date;
use super::super::{Manner, Order, ShortYears};
use super::{Found, Piece, date};

/// Day and month as numbers: `14.03.2024`, `3/14/2024`, `14-03-2024`.
pub fn numbers(rest: &[Piece<'_>], manner: Manner<'_>) -> Option<Found> {
    let [first, second, third, ..] = rest else {
        return None;
    };
    let ((a, a_digits), (b, b_digits), (c, c_digits)) =
        (first.number()?, second.number()?, third.number()?);
    let mark = second.gap.trim();
    if mark != third.gap.trim() || !matches!(mark, "." | "/" | "-") {
        return None;
    }
    // `2024. 3. 14.`
    if a_digits == 4 && b_digits <= 2 && c_digits <= 2 {
        return date(a, b, c, first, third);
    }
    if a_digits > 2 || b_digits > 2 {
        return None;
    }
    // `16.5.1` is a version; `24.03.05` and `24. 3. 5.` are dates.
    let is_version = second.gap == "." && (b_digits, c_digits) != (2, 2);
    let first_is_year =
        a_digits == 2 && c_digits <= 2 && !is_version && is_date(short_year(a), b, c);
    if first_is_year && manner.short_years == ShortYears::First {
        return date(short_year(a), b, c, first, third);
    }
    let year = match (c_digits, mark) {
        (4, _) => c,
        // Two digits of a year with dots or slashes only: `14-03-24` may be anything.
        (2, "." | "/") if is_thai(manner) => thai_year(c),
        (2, "." | "/") => 2000 + c,
        _ => return None,
    };
    // A year or a day, and nobody knows which: no date rather than one that is years off.
    let padded = (b_digits, c_digits) == (2, 2);
    if manner.short_years == ShortYears::Either && first_is_year && padded && a > 12 && a != c {
        return None;
    }
    let order = if mark == "." {
        Order::DayFirst
    } else {
        manner.slashes
    };
    let (month, day) = match order {
        _ if a > 12 => (b, a),
        // The day comes first between dots: this is no date.
        _ if b > 12 && mark == "." => return None,
        _ if b > 12 => (a, b),
        Order::DayFirst => (b, a),
        Order::MonthFirst => (a, b),
    };
    date(year, month, day, first, third)
}

/// The year of two digits that stand first.
pub fn short_year(digits: u32) -> u32 {
    /// Pages of the last century have years above.
    const CENTURY: u32 = 70;
    if digits < CENTURY {
        2000 + digits
    } else {
        1900 + digits
    }
}

fn is_thai(manner: Manner<'_>) -> bool {
    let mut parts = manner.language.split(['-', '_']);
    parts.next().is_some_and(|p| p.eq_ignore_ascii_case("th"))
}

/// The year of two digits in Thai: of the Buddhist calendar, where that is no year to come long
/// after now.
fn thai_year(digits: u32) -> u32 {
    /// 2543 was 2000.
    const FIRST: u32 = 43;
    if digits >= FIRST {
        2500 + digits
    } else {
        2000 + digits
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn day(text: &str, language: &str) -> Option<String> {
        find(text, Manner::of(language)).map(|found| found.date)
    }

    #[test]
    fn a_year_of_two_digits_stands_where_the_language_puts_it() {
        let date = "2024-03-05";
        for (language, text, expected) in [
            ("ko", "24.03.05 14:30", Some(date)),
            ("ko-KR", "24. 3. 5.", Some(date)),
            ("ko", "24-03-05", Some(date)),
            ("ko", "16.5.1", None),
            ("ja", "20.04.1", None),
            ("ko", "24년 3월 5일", Some(date)),
            ("ko", "05.03.2024", Some(date)),
            ("ja", "24/03/05", Some(date)),
            ("zh-CN", "24/3/5", Some(date)),
            ("zh", "24/03/05", Some(date)),
            ("zh-Hant-HK", "24/03/05", None),
            ("zh-HK", "05/03/24", Some(date)),
            ("hu", "24.03.05.", Some(date)),
            ("lt", "24-03-05", Some(date)),
            ("mn", "24.03.05", Some(date)),
            ("ko", "99.03.05", Some("1999-03-05")),
            ("ja", "明治24年3月5日", None),
            // Both ways are in use.
            ("sv", "24.03.05", None),
            ("sv-SE", "14/3/2024", Some("2024-03-14")),
            ("sv", "14.3.24", Some("2024-03-14")),
            ("en-CA", "24/03/05", None),
            ("en-ZA", "24/03/05", None),
            ("fr-CA", "24/03/05", None),
            ("en-CA", "24/03/24", Some("2024-03-24")),
            // The day is first.
            ("de", "24.03.05", Some("2005-03-24")),
            ("fr", "24/03/05", Some("2005-03-24")),
            ("", "24.03.05", Some("2005-03-24")),
            ("de", "24-03-05", None),
            // Thai counts from the Buddha's death.
            ("th", "5/3/67", Some(date)),
            ("th-TH", "5/3/24", Some(date)),
            ("de", "5.3.24", Some(date)),
        ] {
            assert_eq!(
                day(text, language).as_deref(),
                expected,
                "{language}: {text}"
            );
        }
    }
}
