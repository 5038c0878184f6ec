//! The request log of a project.

pub(crate) mod partitions;
pub(crate) mod recent;

pub use recent::{LogEntry, LogFilter};

use std::sync::Arc;

use orbweaver_core::ids::ProjectId;

use crate::db::{Db, per_database, read, signed};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// The id of the newest entry of all projects, on SQLite.
const NEWEST: &str = "SELECT CAST(COALESCE(MAX(id), 0) AS BIGINT) FROM request_log";

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
    /// Stores entries. The id of the last one on SQLite, where nobody can have come in between; `None`
    /// without any.
    pub(crate) async fn insert(
        conn: &mut Conn,
        entries: &[(ProjectId, Arc<LogEntry>)],
    ) -> Result<Option<i64>, StoreError> {
        if entries.is_empty() {
            return Ok(None);
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
        // Hardly ever as many entries twice: the statement is not worth being kept.
        insert.build().persistent(false).execute(&mut *conn).await?;
        if IS_SHARED {
            return Ok(None);
        }
        Ok(Some(sqlx::query_scalar(NEWEST).fetch_one(&mut *conn).await?))
    }

    /// Deletes the oldest entries, at most `limit`, if they are older than `before`; returns how
    /// many. On PostgreSQL only those that are in no day's partition.
    pub(crate) async fn delete_before(
        conn: &mut Conn,
        before: i64,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(if IS_SHARED {
            "DELETE FROM request_log_other WHERE ts < $1 AND id IN (
                 SELECT id FROM request_log_other ORDER BY id LIMIT $2)"
        } else {
            "DELETE FROM request_log WHERE ts < $1 AND id IN (
                 SELECT id FROM request_log ORDER BY id LIMIT $2)"
        })
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
        // On PostgreSQL, other nodes usually log, too.
        if let Db::Lite(_) = &self.db {
            self.recent.push(project, Arc::clone(&entry));
        }
        self.writer.log(project, entry);
    }

    /// Learns which entries of a SQLite file are there already.
    pub(crate) async fn know_logs(&self) -> Result<(), StoreError> {
        if let Db::Lite(_) = &self.db {
            self.recent.begin_at(self.newest_log().await?);
        }
        Ok(())
    }

    /// The id of the newest entry of all projects; 0 without any.
    async fn newest_log(&self) -> Result<i64, StoreError> {
        read!(self.db, pool => Ok(sqlx::query_scalar(NEWEST).fetch_one(pool).await?))
    }

    /// The newest entries first, including everything logged before this call.
    #[crate::boxed]
    pub async fn logs(
        &self,
        project: ProjectId,
        filter: LogFilter,
    ) -> Result<Vec<Arc<LogEntry>>, StoreError> {
        let last = self.recent.last();
        if let Some(found) = self.recent.find(project, &filter)
            && self.newest_log().await? == last
        {
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
