//! The request log of a project.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use moka::sync::Cache;
use orbweaver_core::ids::ProjectId;

use crate::db::{Db, Store, per_database, read, signed};
use crate::error::StoreError;
use crate::time::{from_ms, to_ms};

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
    fn statuses(&self) -> std::ops::RangeInclusive<u16> {
        self.status_min.unwrap_or(0)..=self.status_max.unwrap_or(u16::MAX)
    }
}

/// The newest entries of each project logged by this process. If no other process logs, the
/// newest entries are listed without the database.
#[derive(Clone, Debug)]
pub(crate) struct Recent(Cache<ProjectId, Arc<Mutex<Ring>>>);

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

impl Default for Recent {
    fn default() -> Self {
        Self(Cache::new(RECENT_PROJECTS))
    }
}

impl Recent {
    fn push(&self, project: ProjectId, entry: Arc<LogEntry>) {
        let ring = self
            .0
            .get(&project)
            .unwrap_or_else(|| self.0.get_with(project, Arc::default));
        let mut ring = ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.push(entry);
    }

    /// The entries for a filter, if enough are in memory.
    fn find(&self, project: ProjectId, filter: &LogFilter) -> Option<Vec<Arc<LogEntry>>> {
        let limit = usize::try_from(filter.limit).ok()?;
        let offset = usize::try_from(filter.offset).ok()?;
        let statuses = filter.statuses();
        let ring = self.0.get(&project)?;
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

#[derive(sqlx_macros::FromRow)]
struct LogRow {
    ts: i64,
    method: String,
    path: String,
    status: i64,
    duration_ms: i64,
    client_ip: String,
    request_id: String,
    key_prefix: String,
}

per_database! {
    /// Stores entries.
    pub(crate) async fn insert(
        conn: &mut Conn,
        entries: &[(ProjectId, Arc<LogEntry>)],
    ) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut insert = sqlx::QueryBuilder::new(
            "INSERT INTO request_log (project_id, ts, method, path, status, duration_ms,
                 client_ip, request_id, key_prefix) ",
        );
        insert.push_values(entries, |mut row, (project, entry)| {
            row.push_bind(project.get())
                .push_bind(to_ms(entry.ts))
                .push_bind(entry.method.as_str())
                .push_bind(entry.path.as_str())
                .push_bind(i64::from(entry.status))
                .push_bind(signed(entry.duration_ms))
                .push_bind(entry.client_ip.as_str())
                .push_bind(entry.request_id.as_str())
                .push_bind(entry.key_prefix.as_str());
        });
        insert.build().execute(&mut *conn).await?;
        Ok(())
    }

    /// Deletes the oldest entries, at most `limit`, if they are older than `before`; returns how
    /// many.
    pub(crate) async fn delete_before(
        conn: &mut Conn,
        before: i64,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM request_log WHERE ts < $1 AND id IN (
                 SELECT id FROM request_log ORDER BY id LIMIT $2)",
        )
        .bind(before)
        .bind(limit)
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }
}

impl Store {
    /// Logs an answered request; written with the next batch.
    pub fn log_request(&self, project: ProjectId, entry: LogEntry) {
        let entry = Arc::new(LogEntry {
            ts: from_ms(to_ms(entry.ts)),
            ..entry
        });
        // Other nodes log into a shared database; a SQLite file has only this process's entries.
        if let Db::Lite(_) = &self.db {
            self.recent.push(project, Arc::clone(&entry));
        }
        self.writer.log(project, entry);
    }

    /// The newest entries first, including everything logged before this call.
    #[crate::boxed]
    pub async fn logs(
        &self,
        project: ProjectId,
        filter: LogFilter,
    ) -> Result<Vec<Arc<LogEntry>>, StoreError> {
        if let Some(found) = self.recent.find(project, &filter) {
            return Ok(found);
        }
        self.writer.barrier().await?;
        let statuses = filter.statuses();
        let rows: Vec<LogRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT ts, method, path, status, duration_ms, client_ip, request_id, key_prefix
                 FROM request_log
                 WHERE project_id = $1 AND status >= $2 AND status <= $3
                   AND ($6 = '' OR key_prefix = $6)
                 ORDER BY id DESC LIMIT $4 OFFSET $5",
            )
            .bind(project.get())
            .bind(i64::from(*statuses.start()))
            .bind(i64::from(*statuses.end()))
            .bind(i64::from(filter.limit))
            .bind(signed(filter.offset))
            .bind(filter.key_prefix.as_deref().unwrap_or_default())
            .fetch_all(pool)
            .await?
        });
        let entry = |row: LogRow| {
            Arc::new(LogEntry {
                ts: from_ms(row.ts),
                method: row.method,
                path: row.path,
                status: u16::try_from(row.status).unwrap_or_default(),
                duration_ms: u64::try_from(row.duration_ms).unwrap_or_default(),
                client_ip: row.client_ip,
                request_id: row.request_id,
                key_prefix: row.key_prefix,
            })
        };
        Ok(rows.into_iter().map(entry).collect())
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
