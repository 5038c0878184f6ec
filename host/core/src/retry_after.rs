//! Parsing of `Retry-After`.

use std::time::{Duration, SystemTime};

/// Longest wait that is respected.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Parses Retry-After (RFC 9110, 10.2.3): seconds, or an HTTP date relative to `now`. A past
/// date means no wait; waits are cut to [`MAX_RETRY_AFTER`]; any other text gives `None`.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // A number with too many digits means a very long time.
        let seconds = value.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    Some(
        until
            .duration_since(now)
            .unwrap_or_default()
            .min(MAX_RETRY_AFTER),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 25.
    #[test]
    fn waits_are_parsed_and_clamped() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let read = |value: &str| retry_after(value, now).map(|wait| wait.as_secs());
        assert_eq!(read("120"), Some(120));
        assert_eq!(read(" 0 "), Some(0));
        assert_eq!(read("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
        assert_eq!(read("315360000"), Some(86_400));
        assert_eq!(read("99999999999999999999999"), Some(86_400));
        assert_eq!(read("Fri, 01 Jan 2044 00:00:00 GMT"), Some(86_400));
        for none in ["", "-5", "1.5", "soon", "1 hour"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
