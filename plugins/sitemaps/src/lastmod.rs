//! Recognises dates in `lastmod`.

/// Whether a text is a date in the format of sitemaps (W3C date-time: `2026-11-20`, with or without
/// a time) or of feeds (RFC 822: `Fri, 20 Nov 2026 …`). A year alone is accepted, and so is 31
/// February: the date is only stored, not computed with.
pub fn is_date(text: &str) -> bool {
    w3c(text) || rfc822(text)
}

fn number(text: &str, digits: usize, range: std::ops::RangeInclusive<u32>) -> bool {
    text.len() == digits
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse().is_ok_and(|number| range.contains(&number))
}

fn w3c(text: &str) -> bool {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = parts
        .next()
        .is_some_and(|year| number(year, 4, 1970..=9999));
    let month = parts.next().is_none_or(|month| number(month, 2, 1..=12));
    let day = parts.next().is_none_or(|day| number(day, 2, 1..=31));
    year && month
        && day
        && parts.next().is_none()
        && time.is_none_or(|time| date.len() == 10 && is_time(time))
}

fn is_time(time: &str) -> bool {
    let hour = time.get(..2).is_some_and(|hour| number(hour, 2, 0..=24));
    let minute = time.get(2..5).is_some_and(|rest| {
        rest.strip_prefix(':')
            .is_some_and(|minute| number(minute, 2, 0..=59))
    });
    hour && minute
        && time
            .bytes()
            .all(|b| b.is_ascii_digit() || b":.+-Z ".contains(&b))
}

fn rfc822(text: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let date = text.split_once(',').map_or(text, |(_, date)| date);
    let mut parts = date.split_ascii_whitespace();
    let day = parts
        .next()
        .is_some_and(|day| number(day, day.len(), 1..=31));
    let month = parts.next().is_some_and(|month| MONTHS.contains(&month));
    day && month
        && parts
            .next()
            .is_some_and(|year| number(year, 4, 1970..=9999))
}
