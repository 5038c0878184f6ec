//! Reports of a run's parts.

use orbweaver_core::ids::{ProjectId, RunId};

use super::StoredReport;
use crate::db::read;
use crate::error::StoreError;
use crate::store::Store;

#[derive(sqlx_macros::FromRow)]
struct ReportRow {
    id: i64,
    seq: i64,
    stored: i64,
    report: String,
}

impl Store {
    /// Reports about a run after place `after`, in the order of storing: those of one part, or of
    /// all, which is complete only once no part is leased.
    #[crate::boxed]
    pub async fn run_reports(
        &self,
        project: ProjectId,
        run: RunId,
        part: Option<i64>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredReport>, StoreError> {
        let rows: Vec<ReportRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, seq, stored, report FROM run_reports
                 WHERE project_id = $5 AND run_id = $1 AND (part = $2 OR $2 < 0) AND id > $3
                 ORDER BY id LIMIT $4",
            )
            .bind(run.get())
            .bind(part.unwrap_or(-1))
            .bind(after)
            .bind(i64::from(limit))
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| StoredReport {
                id: row.id,
                seq: row.seq,
                stored: row.stored == 1,
                report: row.report,
            })
            .collect())
    }
}
