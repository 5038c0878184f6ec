//! The formats that are checked: those of extracted values. Others say nothing about validity, as
//! in the standard.

/// The rule that a text breaks, if it is not of this format.
pub(crate) fn broken(format: &str, text: &str) -> Option<&'static str> {
    match format {
        "date" => (!is_date(text)).then_some("must be a date, such as 2024-03-14"),
        "date-time" => (!is_date_time(text))
            .then_some("must be a date with a time, such as 2024-03-14T10:00:00Z"),
        "uri" | "url" => (!is_uri(text)).then_some("must be an absolute URL"),
        _ => None,
    }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut part = |digits: usize| {
        let part = parts.next()?;
        let fits = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (Some(_), Some(month), Some(day)) = (part(4), part(2), part(2)) else {
        return false;
    };
    parts.next().is_none() && (1..=12).contains(&month) && (1..=31).contains(&day)
}

/// RFC 3339, section 5.6.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    let clock = time.get(..8).unwrap_or_default();
    let zone = time.get(8..).unwrap_or_default();
    let zone = match zone.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => zone,
    };
    is_date(date) && has_shape(clock, "00:00:00") && is_zone(zone)
}

fn is_zone(zone: &str) -> bool {
    matches!(zone, "Z" | "z")
        || zone
            .strip_prefix(['+', '-'])
            .is_some_and(|offset| has_shape(offset, "00:00"))
}

/// Whether a text has digits where the model has zeros, and else is the same.
fn has_shape(text: &str, model: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    text.len() == model.len() && text.bytes().zip(model.bytes()).all(fits)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        && !rest.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_extracted_values_are_told_from_what_only_looks_like_them() {
        for (format, text, is_valid) in [
            ("date", "2024-03-14", true),
            ("date", "2024-3-14", false),
            ("date", "2024-13-01", false),
            ("date-time", "2024-03-14T10:00:00Z", true),
            ("date-time", "2024-03-14T10:00:00.25+01:00", true),
            ("date-time", "2024-03-14T10:00:00", false),
            ("date-time", "2024-03-14", false),
            ("uri", "https://example.com/a?b", true),
            ("uri", "/a", false),
            ("uri", "https://example.com/a b", false),
            ("email", "anything", true),
        ] {
            assert_eq!(broken(format, text).is_none(), is_valid, "{format} {text}");
        }
    }
}
