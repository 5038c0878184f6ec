//! The request log of a project.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{Store, read};
use crate::error::StoreError;
use crate::time::from_ms;

/// An answered request.
#[derive(Clone, Debug)]
pub struct NewLogEntry {
    /// Whose key it carried.
    pub project: ProjectId,
    /// When it arrived.
    pub ts: DateTime<Utc>,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Time to the answer's head.
    pub duration_ms: u64,
    /// Who asked.
    pub client_ip: String,
    /// The answer's `X-Request-Id`.
    pub request_id: String,
    /// Prefix of the key.
    pub key_prefix: String,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When the request arrived.
    pub ts: DateTime<Utc>,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Time to the answer's head.
    pub duration_ms: u64,
    /// Who asked.
    pub client_ip: String,
    /// The answer's `X-Request-Id`.
    pub request_id: String,
    /// Prefix of the key.
    pub key_prefix: String,
}

/// Which entries to list.
#[derive(Clone, Copy, Debug)]
pub struct LogFilter {
    /// At most so many.
    pub limit: u32,
    /// Skipping so many of the newest.
    pub offset: u64,
    /// Lowest status.
    pub status_min: Option<u16>,
    /// Highest status.
    pub status_max: Option<u16>,
}

#[derive(sqlx::FromRow)]
struct Row {
    ts: i64,
    method: String,
    path: String,
    status: i64,
    duration_ms: i64,
    client_ip: String,
    request_id: String,
    key_prefix: String,
}

impl Store {
    /// Logs an answered request; written with the next batch.
    pub fn log_request(&self, entry: NewLogEntry) {
        self.writer.log(entry);
    }

    /// The newest entries first, everything logged before this call included.
    pub async fn logs(
        &self,
        project: ProjectId,
        filter: LogFilter,
    ) -> Result<Vec<LogEntry>, StoreError> {
        self.writer.barrier().await?;
        let rows: Vec<Row> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT ts, method, path, status, duration_ms, client_ip, request_id, key_prefix
                 FROM request_log
                 WHERE project_id = $1 AND status >= $2 AND status <= $3
                 ORDER BY id DESC LIMIT $4 OFFSET $5",
            )
            .bind(project.get())
            .bind(i64::from(filter.status_min.unwrap_or(0)))
            .bind(i64::from(filter.status_max.unwrap_or(u16::MAX)))
            .bind(i64::from(filter.limit))
            .bind(i64::try_from(filter.offset).unwrap_or(i64::MAX))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| LogEntry {
                ts: from_ms(row.ts),
                method: row.method,
                path: row.path,
                status: u16::try_from(row.status).unwrap_or_default(),
                duration_ms: u64::try_from(row.duration_ms).unwrap_or_default(),
                client_ip: row.client_ip,
                request_id: row.request_id,
                key_prefix: row.key_prefix,
            })
            .collect())
    }
}
