//! Entries of the request log, and the newest of them in memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use moka::sync::Cache;
use orbweaver_core::ids::ProjectId;

/// Entries of a project kept in memory, their bytes, and projects that have some there: 32 MiB
/// in all.
const RECENT: usize = 512;
const RECENT_BYTES: usize = 128 << 10;
const RECENT_PROJECTS: u64 = 256;

/// An answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it arrived, to the millisecond.
    pub ts: DateTime<Utc>,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Time to the start of the answer, in milliseconds.
    pub duration_ms: u64,
    /// Address of the client.
    pub client_ip: String,
    /// The answer's `X-Request-Id`.
    pub request_id: String,
    /// Prefix of the key.
    pub key_prefix: String,
}

/// A filter for listing entries.
#[derive(Clone, Debug)]
pub struct LogFilter {
    /// Most entries to return.
    pub limit: u32,
    /// Number of newest entries to skip.
    pub offset: u64,
    /// Lowest status.
    pub status_min: Option<u16>,
    /// Highest status.
    pub status_max: Option<u16>,
    /// Only requests with the key of this prefix.
    pub key_prefix: Option<String>,
}

impl LogEntry {
    /// Bytes that this takes in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        let texts = [
            &self.method,
            &self.path,
            &self.client_ip,
            &self.request_id,
            &self.key_prefix,
        ];
        size_of::<Self>() + texts.map(String::capacity).iter().sum::<usize>()
    }
}

impl LogFilter {
    /// Statuses of the entries to list.
    pub(super) fn statuses(&self) -> std::ops::RangeInclusive<u16> {
        self.status_min.unwrap_or(0)..=self.status_max.unwrap_or(u16::MAX)
    }
}

/// The newest entries of each project logged by this process. As long as no other process logs into
/// the file, they are the newest of all, and are listed from memory.
#[derive(Clone, Debug)]
pub(crate) struct RecentLogs {
    rings: Cache<ProjectId, Arc<Mutex<Ring>>>,
    /// The id of the last entry that this process has written. Ids rise by one from entry to entry, so
    /// another id in its place is another process's.
    last: Arc<AtomicI64>,
}

/// Entries, the newest first.
#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Arc<LogEntry>>,
    bytes: usize,
}

impl Ring {
    fn push(&mut self, entry: Arc<LogEntry>) {
        self.bytes += entry.held_bytes();
        self.entries.push_front(entry);
        while self.entries.len() > RECENT || self.bytes > RECENT_BYTES {
            let Some(oldest) = self.entries.pop_back() else {
                return;
            };
            self.bytes -= oldest.held_bytes();
        }
    }
}

impl Default for RecentLogs {
    fn default() -> Self {
        Self {
            rings: Cache::new(RECENT_PROJECTS),
            last: Arc::default(),
        }
    }
}

impl RecentLogs {
    /// Tells of the last entry that is there before this process writes any.
    pub(super) fn begin_at(&self, last: i64) {
        self.last.store(last, Ordering::Release);
    }

    /// Tells of entries that were written: how many, and the id of the last one. If another process has
    /// written before them, what is in memory has a gap, and is forgotten.
    pub(crate) fn written(&self, count: usize, last: i64) {
        if last.saturating_sub_unsigned(count as u64) != self.last() {
            self.rings.invalidate_all();
        }
        // Afterwards: who reads it first, and then what is in memory, finds no gap.
        self.last.store(last, Ordering::Release);
    }

    /// The id of the last entry that this process has written. If it is the newest in the file, no
    /// other process has written one since.
    pub(super) fn last(&self) -> i64 {
        self.last.load(Ordering::Acquire)
    }

    /// Adds the newest entry of a project.
    pub(super) fn push(&self, project: ProjectId, entry: Arc<LogEntry>) {
        let ring = self
            .rings
            .get(&project)
            .unwrap_or_else(|| self.rings.get_with(project, Arc::default));
        let mut ring = ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.push(entry);
    }

    /// The entries for a filter, if enough are in memory.
    pub(super) fn find(
        &self,
        project: ProjectId,
        filter: &LogFilter,
    ) -> Option<Vec<Arc<LogEntry>>> {
        let limit = usize::try_from(filter.limit).ok()?;
        let offset = usize::try_from(filter.offset).ok()?;
        let statuses = filter.statuses();
        let ring = self.rings.get(&project)?;
        let ring = ring.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Arc<LogEntry>> = ring
            .entries
            .iter()
            .filter(|entry| statuses.contains(&entry.status))
            .filter(|entry| {
                let prefix = filter.key_prefix.as_ref();
                prefix.is_none_or(|prefix| entry.key_prefix == *prefix)
            })
            .skip(offset)
            .take(limit)
            .cloned()
            .collect();
        (found.len() == limit).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: usize) -> Arc<LogEntry> {
        Arc::new(LogEntry {
            ts: DateTime::UNIX_EPOCH,
            method: "GET".to_owned(),
            path: "/".repeat(path),
            status: 200,
            duration_ms: 1,
            client_ip: "192.0.2.1".to_owned(),
            request_id: "0".repeat(32),
            key_prefix: "orb_AAAA".to_owned(),
        })
    }

    #[test]
    fn recent_entries_are_bounded_in_number_and_in_bytes() {
        let mut ring = Ring::default();
        for _ in 0..2 * RECENT {
            ring.push(entry(1));
        }
        let short = ring.entries.len();
        assert!(short > 256, "{short} entries of usual requests");
        for _ in 0..2 * RECENT {
            ring.push(entry(512));
        }
        let held: usize = ring.entries.iter().map(|entry| entry.held_bytes()).sum();
        assert_eq!(held, ring.bytes);
        assert!(held <= RECENT_BYTES && ring.entries.len() < short);
        ring.push(entry(1 << 20));
        assert!(ring.bytes <= RECENT_BYTES, "{}", ring.bytes);
    }
}
