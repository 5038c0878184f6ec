//! Bounds of the request log: clients choose paths, methods and rates, so each is limited.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use moka::sync::Cache;
use orbweaver_accounts::key;
use orbweaver_core::ids::ProjectId;

/// Longest path that is logged, in bytes; documented in docs/security.md.
const MAX_PATH: usize = 512;
/// Longest method that is logged, in bytes.
const MAX_METHOD: usize = 32;
/// Marks the end of a text that was cut.
const CUT: char = '…';
/// Projects whose counts are kept; a dropped project starts its day again at 0.
const MAX_PROJECTS: u64 = 10_000;

/// Counts each project's logged requests.
#[derive(Debug)]
pub(super) struct RequestLog {
    per_day: u64,
    counts: Cache<ProjectId, Arc<Day>>,
}

/// Number of requests logged on a day.
#[derive(Debug, Default)]
struct Day {
    /// Days since 1970.
    number: AtomicI64,
    count: AtomicU64,
}

impl RequestLog {
    /// Allows this number of entries per project and UTC day.
    pub(super) fn new(per_day: u64) -> Self {
        Self {
            per_day,
            counts: Cache::new(MAX_PROJECTS),
        }
    }

    /// Whether one more request of this project is logged.
    pub(super) fn admits(&self, project: ProjectId, now: DateTime<Utc>) -> bool {
        let day = match self.counts.get(&project) {
            Some(day) => day,
            None => self.counts.get_with(project, Arc::default),
        };
        let today = now.timestamp().div_euclid(86_400);
        if day.number.swap(today, Ordering::Relaxed) != today {
            day.count.store(0, Ordering::Relaxed);
        }
        day.count.fetch_add(1, Ordering::Relaxed) < self.per_day
    }
}

/// A path as it is logged.
pub(super) fn logged_path(path: &str) -> String {
    cut(&without_keys(path), MAX_PATH)
}

/// The path without keys, of which only the prefixes stay: a whole key is easily given where its prefix is
/// asked for (`DELETE /v1/keys/{prefix}`), and the log is kept in clear.
fn without_keys(path: &str) -> Cow<'_, str> {
    let is_key = |part: &str| key::is_well_formed(part);
    if !path.split('/').any(is_key) {
        return Cow::Borrowed(path);
    }
    let parts = path.split('/').map(|part| match is_key(part) {
        true => format!("{}{CUT}", key::shown(part)),
        false => part.to_owned(),
    });
    Cow::Owned(parts.collect::<Vec<_>>().join("/"))
}

/// A method as it is logged.
pub(super) fn logged_method(method: &str) -> String {
    cut(method, MAX_METHOD)
}

/// Cuts to `most` bytes, including the mark.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most - CUT.len_utf8());
    let mut short = text.get(..end).unwrap_or_default().to_owned();
    short.push(CUT);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_between_characters() {
        assert_eq!(logged_path("/v1/scan"), "/v1/scan");
        let long = logged_path(&format!("/{}", "é".repeat(40_000)));
        assert!((510..=512).contains(&long.len()), "{}", long.len());
        assert!(long.ends_with("é…"));
        assert_eq!(logged_method(&"A".repeat(60_000)).len(), 32);
        assert_eq!(cut(&"a".repeat(512), 512).len(), 512);
    }

    #[test]
    fn a_project_logs_so_many_requests_a_day() {
        let log = RequestLog::new(3);
        let noon: DateTime<Utc> = "2026-03-01T12:00:00Z".parse().unwrap();
        let admitted = |project, now| {
            (0..5)
                .filter(|_| log.admits(ProjectId(project), now))
                .count()
        };
        assert_eq!(admitted(1, noon), 3);
        assert_eq!(admitted(2, noon), 3);
        assert_eq!(admitted(1, noon + chrono::TimeDelta::hours(11)), 0);
        assert_eq!(admitted(1, noon + chrono::TimeDelta::hours(12)), 3);
    }
}
