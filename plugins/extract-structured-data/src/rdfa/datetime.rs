//! The datatype of what a `datetime` attribute says.

/// The XML Schema datatype whose lexical form a value has (HTML+RDFa 1.1, section 3.1): a date, a
/// time, both, a duration, a month or a year. A time without seconds, which HTML allows, is none.
pub fn datatype(value: &str) -> Option<&'static str> {
    Some(match value {
        _ if is_duration(value) => "http://www.w3.org/2001/XMLSchema#duration",
        _ if is_time(value) => "http://www.w3.org/2001/XMLSchema#time",
        _ => {
            let rest = year(value)?;
            let month = part(rest, '-', 1..=12);
            let day = month.and_then(|rest| part(rest, '-', 1..=31));
            match (day, month) {
                (Some(rest), _) if rest.strip_prefix('T').is_some_and(is_time) => {
                    "http://www.w3.org/2001/XMLSchema#dateTime"
                }
                (Some(rest), _) if is_zone(rest) => "http://www.w3.org/2001/XMLSchema#date",
                (None, Some(rest)) if is_zone(rest) => {
                    "http://www.w3.org/2001/XMLSchema#gYearMonth"
                }
                _ if is_zone(rest) => "http://www.w3.org/2001/XMLSchema#gYear",
                _ => return None,
            }
        }
    })
}

/// What follows a year of four digits or more.
fn year(value: &str) -> Option<&str> {
    let value = value.strip_prefix('-').unwrap_or(value);
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 4 || digits > 4 && !value.starts_with('0')).then(|| value.get(digits..))?
}

/// What follows a sign and a number of two digits in this range.
fn part(value: &str, sign: char, range: std::ops::RangeInclusive<u8>) -> Option<&str> {
    let (number, rest) = value.strip_prefix(sign)?.split_at_checked(2)?;
    let is_number = number.bytes().all(|b| b.is_ascii_digit());
    let fits = is_number && number.parse().is_ok_and(|number| range.contains(&number));
    fits.then_some(rest)
}

/// `10:00:05.5+02:00`.
fn is_time(value: &str) -> bool {
    let Some((hour, rest)) = value.split_at_checked(2) else {
        return false;
    };
    let is_hour = hour.bytes().all(|b| b.is_ascii_digit()) && hour < "24";
    let rest = part(rest, ':', 0..=59).and_then(|rest| part(rest, ':', 0..=59));
    let Some(rest) = rest.filter(|_| is_hour) else {
        return false;
    };
    let Some(fraction) = rest.strip_prefix('.') else {
        return is_zone(rest);
    };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && fraction.get(digits..).is_some_and(is_zone)
}

/// Nothing, `Z` or `+02:00`.
fn is_zone(value: &str) -> bool {
    let offset = part(value, '+', 0..=14).or_else(|| part(value, '-', 0..=14));
    matches!(value, "" | "Z") || offset.and_then(|rest| part(rest, ':', 0..=59)) == Some("")
}

/// `P1Y2M3DT4H5M6.7S`, of which at least one part is there.
fn is_duration(value: &str) -> bool {
    let value = value.strip_prefix('-').unwrap_or(value);
    let Some(rest) = value.strip_prefix('P') else {
        return false;
    };
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (rest, None),
    };
    let is_date = date.is_empty() && time.is_some() || are_units(date, "YMD");
    is_date && time.is_none_or(|time| are_units(time, "HMS"))
}

/// Numbers with these units, each at most once and in this order; only seconds have fractions.
fn are_units(text: &str, units: &str) -> bool {
    let (mut rest, mut units) = (text, units.chars());
    while !rest.is_empty() {
        let Some(end) = rest.find(|c: char| c.is_ascii_uppercase()) else {
            return false;
        };
        let (number, unit) = rest.split_at(end);
        let is_unit = unit
            .chars()
            .next()
            .is_some_and(|unit| units.any(|u| u == unit));
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if unit.starts_with('S') => (whole, fraction),
            Some(_) => return false,
            None => (number, "0"),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !(is_unit && is_number(whole) && is_number(fraction)) {
            return false;
        }
        rest = unit.get(1..).unwrap_or("");
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::datatype;

    #[test]
    fn the_form_of_a_value_tells_its_datatype() {
        for (value, expected) in [
            ("2024-01-02", "date"),
            ("2024-01-02Z", "date"),
            ("-12024-12-31+14:00", "date"),
            ("2024-01-02T10:00:05", "dateTime"),
            ("2024-01-02T10:00:05.25-03:30", "dateTime"),
            ("10:00:05Z", "time"),
            ("2024-01", "gYearMonth"),
            ("2024", "gYear"),
            ("P1Y2M3DT4H5M6.7S", "duration"),
            ("-P3D", "duration"),
            ("PT90M", "duration"),
        ] {
            let found = datatype(value).and_then(|iri| iri.rsplit('#').next());
            assert_eq!(found, Some(expected), "{value}");
        }
        for value in [
            "",
            "today",
            "P",
            "PT",
            "P1H",
            "P1.5D",
            "P1D1Y",
            "PT1M1M",
            "1T",
            "24-01-02",
            "2024-13-02",
            "2024-1-2",
            "2024-01-02T10:00",
            "2024-01-02T25:00:00",
            "10:00",
            "2024-01-02 10:00:05",
            "2024-01-02T10:00:05 Z",
            "2024-01-02T",
            "2024-01-02é",
            "02024",
            "10:00:05.",
            "10:00:05+2",
            "2024-01-é",
        ] {
            assert_eq!(datatype(value), None, "{value}");
        }
    }
}
