//! What is lent to a part, and what parts have reported.

use orbweaver_core::ids::RunId;

use super::{LentUrl, PartLease, StoredReport};
use crate::crawl::FrontierRow;
use crate::db::read;
use crate::error::StoreError;
use crate::store::Store;
use crate::time::from_ms;

#[derive(sqlx_macros::FromRow)]
struct ReportRow {
    id: i64,
    seq: i64,
    stored: i64,
    report: String,
}

#[derive(sqlx_macros::FromRow)]
struct LentRow {
    lent: i64,
    seq: i64,
    url: String,
    depth: i64,
    attempts: i64,
    next_at: i64,
    priority: i64,
}

impl Store {
    /// URLs lent to a part after place `after` that have no report yet, in the order of lending.
    #[crate::boxed]
    pub async fn lent_urls(
        &self,
        lease: PartLease,
        after: i64,
        limit: u32,
    ) -> Result<Vec<LentUrl>, StoreError> {
        let rows: Vec<LentRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT f.lent, f.seq, f.url, f.depth, f.attempts, f.next_at, f.priority
                 FROM frontier f
                 WHERE f.run_id = $1 AND f.part = $2 AND f.lent > $3 AND f.state = 0
                   AND NOT EXISTS (SELECT 1 FROM run_reports r
                                   WHERE r.run_id = f.run_id AND r.seq = f.seq)
                 ORDER BY f.lent LIMIT $4",
            )
            .bind(lease.run.get())
            .bind(lease.part)
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| LentUrl {
                number: row.lent,
                url: FrontierRow {
                    seq: row.seq,
                    url: row.url,
                    depth: u32::try_from(row.depth).unwrap_or_default(),
                    attempts: u32::try_from(row.attempts).unwrap_or_default(),
                    next_at: from_ms(row.next_at),
                    priority: i32::try_from(row.priority).unwrap_or_default(),
                },
            })
            .collect())
    }

    /// Reports about a run after place `after`, in the order of storing: those of one part, or of
    /// all, which is complete only once no part is leased.
    #[crate::boxed]
    pub async fn run_reports(
        &self,
        run: RunId,
        part: Option<i64>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredReport>, StoreError> {
        let rows: Vec<ReportRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, seq, stored, report FROM run_reports
                 WHERE run_id = $1 AND (part = $2 OR $2 < 0) AND id > $3 ORDER BY id LIMIT $4",
            )
            .bind(run.get())
            .bind(part.unwrap_or(-1))
            .bind(after)
            .bind(i64::from(limit))
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
