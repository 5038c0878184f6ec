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
        // Hardly ever as many entries twice: the statement is not worth being kept.
        insert.build().persistent(false).execute(&mut *conn).await?;
        Ok(())
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
