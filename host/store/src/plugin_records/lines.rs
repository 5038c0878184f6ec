//! Lines that plugins logged.

use chrono::{DateTime, Utc};

use super::{RecordOrigin, RecordPage};
use crate::db::read;
use crate::error::StoreError;
use crate::plugin_state::StateOwner;
use crate::store::Store;
use crate::time::from_ms;

/// A line that a plugin logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginLine {
    /// When.
    pub at: DateTime<Utc>,
    /// What it is part of.
    pub origin: RecordOrigin,
    /// `trace` to `error`.
    pub level: String,
    /// One line, without credentials.
    pub message: String,
}

#[derive(sqlx_macros::FromRow)]
struct LineRow {
    id: i64,
    ts: i64,
    version: String,
    request_id: String,
    run_kind: String,
    run_id: Option<i64>,
    level: String,
    message: String,
}

impl From<LineRow> for (i64, PluginLine) {
    fn from(row: LineRow) -> Self {
        let line = PluginLine {
            at: from_ms(row.ts),
            origin: RecordOrigin {
                version: row.version,
                request_id: row.request_id,
                run_kind: row.run_kind,
                run_id: row.run_id,
            },
            level: row.level,
            message: row.message,
        };
        (row.id, line)
    }
}

impl Store {
    /// Lines that a plugin logged in a project, newest first, with their ids.
    #[crate::boxed]
    pub async fn plugin_lines(
        &self,
        owner: &StateOwner,
        page: &RecordPage<'_>,
    ) -> Result<Vec<(i64, PluginLine)>, StoreError> {
        let levels = page.levels.join(",");
        let rows: Vec<LineRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, ts, version, request_id, run_kind, run_id, level, message
                 FROM plugin_logs
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id < $5
                   AND ($6 = '' OR ',' || $6 || ',' LIKE '%,' || level || ',%')
                   AND ($7 = '' OR request_id = $7)
                 ORDER BY id DESC LIMIT $8",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(page.before)
            .bind(levels.as_str())
            .bind(page.request_id)
            .bind(i64::from(page.limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(<(i64, PluginLine)>::from).collect())
    }
}
