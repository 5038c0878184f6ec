//! Listing runs.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use super::{RunFilter, RunState};
use crate::db::{number, read, signed};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::from_ms;

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunItem {
    /// Its id.
    pub id: RunId,
    /// The monitor that started it.
    pub monitor: Option<MonitorId>,
    /// The seed as requested.
    pub url: String,
    /// Its state.
    pub status: RunState,
    /// Number of stored pages.
    pub page_count: u64,
    /// Failures on the crawler's side.
    pub error_count: u64,
    /// When it was accepted.
    pub enqueued_at: DateTime<Utc>,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

#[derive(sqlx_macros::FromRow)]
struct ItemRow {
    id: i64,
    monitor_id: Option<i64>,
    url: String,
    status: String,
    page_count: i64,
    error_count: i64,
    enqueued_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
}

impl Store {
    /// Runs of the project for lists, newest first.
    #[crate::boxed]
    pub async fn run_items(
        &self,
        project: ProjectId,
        filter: &RunFilter,
    ) -> Result<Vec<RunItem>, StoreError> {
        let rows: Vec<ItemRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, monitor_id, url, status, page_count, error_count, enqueued_at,
                        started_at, finished_at
                 FROM runs
                 WHERE project_id = $1 AND (status = $2 OR $2 = '')
                   AND (monitor_id = $3 OR $3 = 0)
                 ORDER BY id DESC LIMIT $4 OFFSET $5",
            )
            .bind(project.get())
            .bind(filter.state.map_or("", RunState::as_str))
            .bind(filter.monitor.map_or(0, |id| id.get()))
            .bind(i64::from(filter.limit))
            .bind(signed(filter.offset))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter()
            .map(|row| {
                Ok(RunItem {
                    id: RunId(row.id),
                    monitor: row.monitor_id.map(MonitorId),
                    url: row.url,
                    status: row.status.parse().map_err(StoreError::Damaged)?,
                    page_count: number(row.page_count, "page_count")?,
                    error_count: number(row.error_count, "error_count")?,
                    enqueued_at: from_ms(row.enqueued_at),
                    started_at: row.started_at.map(from_ms),
                    finished_at: row.finished_at.map(from_ms),
                })
            })
            .collect()
    }
}
