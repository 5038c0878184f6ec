//! Dates of `unavailable_after`, from which on a page is not in the index any more.

/// A day: year, month, day of the month.
type Day = (u32, u32, u32);

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Whether a date is over at a time, both as they are written. The zone and the time of day do not count:
/// on the day itself it is not over.
pub fn is_over(date: &str, now: &str) -> bool {
    day(date)
        .zip(day(now))
        .is_some_and(|(date, now)| date < now)
}

/// The day of a date as robots read it: of ISO 8601, RFC 822 or RFC 850.
fn day(text: &str) -> Option<Day> {
    let mut parts = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty());
    let first = parts.next()?;
    if first.len() == 4
        && let Ok(year) = first.parse()
    {
        let month = parts.next()?.parse().ok()?;
        let day = parts.next()?.split(['T', 't']).next()?.parse().ok()?;
        return valid(year, month, day);
    }
    // What is before the month, and behind it, is the day and the year; the weekday is neither.
    let (mut month, mut numbers) = (None, Vec::new());
    for part in std::iter::once(first).chain(parts) {
        if let Ok(number) = part.parse::<u32>() {
            numbers.push((part.len(), number));
        } else if month.is_none() {
            month = month_of(part);
        }
        if month.is_some() && numbers.len() == 2 {
            break;
        }
    }
    let [(_, day), (digits, year)] = *numbers.as_slice() else {
        return None;
    };
    let year = match (digits, year) {
        (4, _) => year,
        (2, 70..) => 1900 + year,
        (2, _) => 2000 + year,
        _ => return None,
    };
    valid(year, month?, day)
}

fn month_of(name: &str) -> Option<u32> {
    let name = name.get(..3)?;
    (1..)
        .zip(MONTHS)
        .find_map(|(number, month)| month.eq_ignore_ascii_case(name).then_some(number))
}

fn valid(year: u32, month: u32, day: u32) -> Option<Day> {
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_forms_that_robots_know() {
        for date in [
            "2010-06-25",
            "2010-06-25T15:00:00+01:00",
            "25 Jun 2010 15:00:00 PST",
            "Fri, 25 Jun 2010 15:00:00 GMT",
            "Friday, 25-Jun-10 15:00:00 UTC",
            "June 25, 2010",
        ] {
            assert_eq!(day(date), Some((2010, 6, 25)), "{date}");
        }
        for date in ["", "soon", "2010-13-01", "25 Foo 2010", "Jun 2010", "10:30"] {
            assert_eq!(day(date), None, "{date}");
        }
    }

    #[test]
    fn a_date_is_over_on_the_next_day() {
        let now = "Fri, 27 Nov 2026 19:00:00 GMT";
        assert!(is_over("2026-11-26", now) && is_over("1 Jan 99", now));
        assert!(!is_over("2026-11-27", now) && !is_over("2027-01-01", now));
        assert!(!is_over("soon", now) && !is_over("2026-11-26", ""));
    }
}
