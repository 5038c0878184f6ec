//! Times in the database: milliseconds since 1970, UTC.

use chrono::{DateTime, Utc};

pub(crate) fn to_ms(time: DateTime<Utc>) -> i64 {
    time.timestamp_millis()
}

/// Limited to chrono's range, so that a damaged row cannot fail a listing.
pub(crate) fn from_ms(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or(if ms < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

pub(crate) fn day(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d").to_string()
}
