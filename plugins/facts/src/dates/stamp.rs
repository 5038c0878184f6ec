//! Dates that programs write.

/// Years that a page may be of.
const YEARS: std::ops::RangeInclusive<u32> = 1000..=2199;

/// Whether this is a day of the Gregorian calendar in a believable year.
pub fn is_date(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    YEARS.contains(&year) && (1..=days).contains(&day)
}

/// ISO 8601 (with its usual variations) and Unix time, as ISO 8601 in extended form. `None`
/// for all else.
pub fn iso(value: &str) -> Option<String> {
    let value = value.trim();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let rest = value.get(digits..)?;
    match (digits, rest.as_bytes().first()) {
        (4, None) => is_date(number(value)?, 1, 1).then(|| value.to_owned()),
        (4, Some(&mark @ (b'-' | b'/' | b'.'))) => extended(value, mark),
        (8, None | Some(b'T' | b' ')) => {
            let (year, month, day) = (value.get(..4)?, value.get(4..6)?, value.get(6..8)?);
            with_time(number(year)?, number(month)?, number(day)?, rest)
        }
        (12 | 14, None) => {
            let (date, time) = value.split_at_checked(8)?;
            let (year, month, day) = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
            // Any other number of that length is no date.
            time_of_day(time)?;
            with_time(number(year)?, number(month)?, number(day)?, time)
        }
        (10, None) => unix(value.parse().ok()?),
        (13, None) => unix(value.parse::<u64>().ok()? / 1000),
        _ => None,
    }
}

/// `2024-03-14…`, `2024/3/14…`, `2024-03`.
fn extended(value: &str, mark: u8) -> Option<String> {
    let (year, rest) = (number(value.get(..4)?)?, value.get(5..)?);
    let month_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=2).contains(&month_digits) {
        return None;
    }
    let month = number(rest.get(..month_digits)?)?;
    let rest = rest.get(month_digits..)?;
    if rest.is_empty() {
        return (mark == b'-' && month_digits == 2 && is_date(year, month, 1))
            .then(|| value.to_owned());
    }
    let rest = rest.strip_prefix(char::from(mark))?;
    let day_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=2).contains(&day_digits) {
        return None;
    }
    let day = number(rest.get(..day_digits)?)?;
    with_time(year, month, day, rest.get(day_digits..)?)
}

/// The date, and what follows it where that is a time of day.
fn with_time(year: u32, month: u32, day: u32, rest: &str) -> Option<String> {
    if !is_date(year, month, day) {
        return None;
    }
    let time = time_of_day(rest);
    let beginning = time
        .as_deref()
        .is_none_or(|t| t.starts_with("T00:00:00") || t == "T00:00Z");
    if (year, month, day) == (1970, 1, 1) && beginning {
        return None;
    }
    // Some systems write years of which no page is, with a real-looking time.
    let time = time.unwrap_or_default();
    Some(format!("{year:04}-{month:02}-{day:02}{time}"))
}

/// `T10:00`, ` 10:00:05.123 +02:00`, `T100005Z`, ` 9:30 PM` as `T10:00`, `T10:00:05.123+02:00`,
/// `T10:00:05Z`, `T21:30`; `None` for what is no time.
fn time_of_day(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([',', ' ']);
    let rest = rest.strip_prefix(['T', 't']).unwrap_or(rest);
    let digits = |at: usize, count: usize, most: u32| -> Option<u32> {
        let text = rest.get(at..at + count)?;
        let value = number(text)?;
        (value <= most).then_some(value)
    };
    let two = |at, most| digits(at, 2, most);
    // An hour may have one digit before a colon.
    let mut at = if rest.as_bytes().get(1) == Some(&b':') {
        1
    } else {
        2
    };
    let hour = digits(0, at, 23)?;
    let colon = usize::from(rest.as_bytes().get(at) == Some(&b':'));
    let minute = two(at + colon, 59)?;
    at += colon + 2;
    let mut tail = format!(":{minute:02}");
    let seconds_at = match (colon, rest.as_bytes().get(at)) {
        (1, Some(b':')) => Some(at + 1),
        (0, Some(b)) if b.is_ascii_digit() => Some(at),
        _ => None,
    };
    if let Some(second) = seconds_at.and_then(|at| two(at, 60)) {
        at = seconds_at? + 2;
        tail.push_str(&format!(":{second:02}"));
        let fraction = rest.get(at..)?;
        if let Some(digits) = fraction.strip_prefix(['.', ',']) {
            let length = digits.bytes().take_while(u8::is_ascii_digit).count();
            if (1..=9).contains(&length) {
                tail.push('.');
                tail.push_str(digits.get(..length)?);
            }
            at += 1 + length;
        }
    }
    let (half, rest) = half_of_day(rest.get(at..)?);
    let hour = match (half, hour) {
        (Some(Half::Before), 12) => 0,
        (Some(Half::After), 1..=11) => hour + 12,
        _ => hour,
    };
    Some(format!("T{hour:02}{tail}{}", zone(rest)))
}

/// Half of a day of twice twelve hours.
enum Half {
    Before,
    After,
}

/// `AM`, `p.m.` and their like at the beginning, in Spanish (`p. m.`), Greek and Arabic too, and what
/// follows.
fn half_of_day(rest: &str) -> (Option<Half>, &str) {
    let text = rest.trim_start();
    for (word, half) in [
        ("am", Half::Before),
        ("a.m.", Half::Before),
        ("pm", Half::After),
        ("p.m.", Half::After),
        ("a. m.", Half::Before),
        ("p. m.", Half::After),
        ("a.\u{a0}m.", Half::Before),
        ("p.\u{a0}m.", Half::After),
        ("a.\u{202f}m.", Half::Before),
        ("p.\u{202f}m.", Half::After),
        ("π.μ.", Half::Before),
        ("μ.μ.", Half::After),
        ("ص", Half::Before),
        ("م", Half::After),
    ] {
        let Some((start, after)) = text.split_at_checked(word.len()) else {
            continue;
        };
        let ends = !after.starts_with(|c: char| c.is_alphanumeric());
        if ends && start.eq_ignore_ascii_case(word) {
            return (Some(half), after);
        }
    }
    (None, rest)
}

/// The offset that a time is followed by: `Z`, `+02:00`, or nothing. Programs write a name behind
/// it (`+0000 UTC`, `Z[UTC]`), before it (`GMT+0100`), or in place of it (`EST`).
fn zone(rest: &str) -> String {
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| c.is_whitespace() || matches!(c, '[' | '(' | ',' | ';' | ')'))
        .unwrap_or(rest.len());
    let token = rest.get(..end).unwrap_or(rest);
    let letters = token.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, offset) = token.split_at_checked(letters).unwrap_or((token, ""));
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    let is_universal = ["Z", "UTC", "GMT", "UT"].iter().any(&is);
    if offset.is_empty() {
        let named = || ZONES.iter().find(|(known, _)| is(known));
        return if is_universal {
            "Z".to_owned()
        } else {
            named().map_or_else(String::new, |(_, offset)| (*offset).to_owned())
        };
    }
    if !name.is_empty() && (!is_universal || name.len() == 1) {
        return String::new();
    }
    let mut signs = offset.chars();
    let sign = match signs.next() {
        Some('+') => '+',
        Some('-' | '−') => '-',
        _ => return String::new(),
    };
    let offset = signs.as_str();
    let (hours, minutes) = match (offset.split_once(':'), offset.len()) {
        (Some((hours, minutes)), 4 | 5) => (number(hours), number(minutes)),
        (None, 1 | 2) => (number(offset), Some(0)),
        (None, 4) => (
            offset.get(..2).and_then(number),
            offset.get(2..).and_then(number),
        ),
        _ => return String::new(),
    };
    match (hours, minutes) {
        (Some(hours @ 0..=14), Some(minutes @ 0..=59)) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => String::new(),
    }
}

/// Names of zones that mean one offset: those of RFC 2822, but for CST, which Java writes in China,
/// too, and others that nobody else uses.
const ZONES: &[(&str, &str)] = &[
    ("EST", "-05:00"),
    ("EDT", "-04:00"),
    ("CDT", "-05:00"),
    ("MST", "-07:00"),
    ("MDT", "-06:00"),
    ("PST", "-08:00"),
    ("PDT", "-07:00"),
    ("CET", "+01:00"),
    ("CEST", "+02:00"),
    ("EET", "+02:00"),
    ("EEST", "+03:00"),
    ("MSK", "+03:00"),
    ("JST", "+09:00"),
    ("KST", "+09:00"),
];

/// A date with a time, from its parts; `time` is what follows the date.
pub fn at_time(date: &str, time: &str) -> Option<String> {
    let number = |range: std::ops::Range<usize>| date.get(range).and_then(number);
    with_time(number(0..4)?, number(5..7)?, number(8..10)?, time)
}

/// The number of the day of an ISO 8601 date in the Gregorian calendar, counted from a day long ago;
/// of a year or a month alone, that of its first day.
pub fn day_number(date: &str) -> Option<u32> {
    let number = |range: std::ops::Range<usize>| date.get(range)?.parse::<u32>().ok();
    let year = number(0..4)?;
    let (month, day) = (number(5..7).unwrap_or(1), number(8..10).unwrap_or(1));
    // Years begin in March, so that the leap day is a year's last.
    let (year, month) = if month < 3 {
        (year.checked_sub(1)?, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    Some(year * 365 + leap_days + (month * 153 + 2) / 5 + day)
}

/// Seconds since 1970 as a date with a time.
pub fn unix(seconds: u64) -> Option<String> {
    // Below lies 1990: what is smaller is some other number.
    if seconds < 631_152_000 {
        return None;
    }
    // Days to a date of the Gregorian calendar (Howard Hinnant, "civil_from_days").
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    if year > 2199 {
        return None;
    }
    let second = seconds % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    ))
}

/// A number of ASCII digits alone.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_write_is_put_into_one_form() {
        for (value, expected) in [
            ("2024", "2024"),
            ("2024-03", "2024-03"),
            ("2024-03-14", "2024-03-14"),
            ("2024/3/4", "2024-03-04"),
            ("2024.03.14", "2024-03-14"),
            ("20240314", "2024-03-14"),
            ("20240314T100005Z", "2024-03-14T10:00:05Z"),
            ("2020-05-05T10:00Z", "2020-05-05T10:00Z"),
            ("2026-03-04T06:30:00+00:00", "2026-03-04T06:30:00+00:00"),
            (
                "2024-03-14 10:00:05.123 +0200",
                "2024-03-14T10:00:05.123+02:00",
            ),
            ("2024-03-14T10:00:05 UTC", "2024-03-14T10:00:05Z"),
            ("2024-03-14 10:30:00 PM", "2024-03-14T22:30:00"),
            ("2024-03-14 10:30 am", "2024-03-14T10:30"),
            ("2024-03-14, 9:30 p.m.", "2024-03-14T21:30"),
            ("2024-03-14 12:05AM", "2024-03-14T00:05"),
            ("2024-03-14 12:05PM +0200", "2024-03-14T12:05+02:00"),
            ("2024-03-14T14:05 PM UTC", "2024-03-14T14:05Z"),
            ("2024-03-14 12:30 amber", "2024-03-14T12:30"),
            ("2024-03-14T9:30:05Z", "2024-03-14T09:30:05Z"),
            ("2024-03-14T99:00", "2024-03-14"),
            ("2024-03-14 and more", "2024-03-14"),
            ("2024-02-29", "2024-02-29"),
            ("20240314100005", "2024-03-14T10:00:05"),
            ("202403141000", "2024-03-14T10:00"),
            // Go, Java, Python, browsers.
            ("2024-03-14 10:00:00 +0000 UTC", "2024-03-14T10:00:00+00:00"),
            (
                "2024-03-14 10:00:00.5 -0700 MST m=+0.1",
                "2024-03-14T10:00:00.5-07:00",
            ),
            ("2024-03-14T10:00:00Z[UTC]", "2024-03-14T10:00:00Z"),
            (
                "2024-03-14T10:00:00+01:00[Europe/Berlin]",
                "2024-03-14T10:00:00+01:00",
            ),
            ("2024-03-14 10:00 GMT+2", "2024-03-14T10:00+02:00"),
            ("2024-03-14 10:00 UTC-5", "2024-03-14T10:00-05:00"),
            ("2024-03-14 10:00 UTC+05:30", "2024-03-14T10:00+05:30"),
            ("2024-03-14 10:00 GMT+0100 (CET)", "2024-03-14T10:00+01:00"),
            ("2024-03-14T10:00:00−03:00", "2024-03-14T10:00:00-03:00"),
            ("2024-03-14 10:00 utc", "2024-03-14T10:00Z"),
            ("2024-03-14 10:00 am EST", "2024-03-14T10:00-05:00"),
            ("2024-03-14 10:00 CEST", "2024-03-14T10:00+02:00"),
            // China or Chicago: no zone is better than a wrong one.
            ("2024-03-14 10:00 CST", "2024-03-14T10:00"),
            ("2024-03-14 10:00 Uhr", "2024-03-14T10:00"),
            ("2024-03-14 10:00 +99:00", "2024-03-14T10:00"),
            ("2024-03-14 10:00 Z5", "2024-03-14T10:00"),
            ("2024-03-14 10:00 +1é", "2024-03-14T10:00"),
            ("1700000000", "2023-11-14T22:13:20Z"),
            ("1700000000123", "2023-11-14T22:13:20Z"),
        ] {
            assert_eq!(iso(value).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn what_stands_in_place_of_a_date_is_none() {
        for value in [
            "",
            "0001-01-01",
            "0001-01-01T00:00:00",
            "1970-01-01T00:00:00Z",
            "1970-01-01",
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-1",
            "24-03-14",
            "123456",
            "0000000000",
            "99999999",
            "yesterday",
            "2024-é",
            "2024-03-é",
            "é024-03-14",
            "9999-12-31",
            "20241399100005",
            "202403149900",
            "99999999999999",
        ] {
            assert_eq!(iso(value), None, "{value}");
        }
    }
}
