//! Exports of runs to buckets: the table `exports`. A worker leases them as it leases jobs.

mod lease;
mod rows;

pub use lease::{ExportLease, ExportOutcome, LeasedExport};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ExportId, ProjectId, RunId};

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::jobs::JobState;
use crate::notices::Topic;
use crate::store::Store;
use crate::time::to_ms;
use rows::{ExportRow, columns};

/// An export to create.
#[derive(Clone, Copy, Debug)]
pub struct NewExport<'a> {
    /// The project that owns it.
    pub project: ProjectId,
    /// The run whose pages it has.
    pub run: RunId,
    /// What is written, and where: a JSON object without values of secrets.
    pub request: &'a str,
    /// Id of the request that queues it.
    pub request_id: &'a str,
    /// The current time.
    pub enqueued_at: DateTime<Utc>,
    /// Most queued and running exports of the project.
    pub most_active: u32,
}

/// Result of creating an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportCreated {
    /// It is queued.
    New(Box<BucketExport>),
    /// The project has as many queued and running exports as it may.
    QueueFull,
    /// The project has no such run.
    NoRun,
}

/// An export of a run to a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketExport {
    /// Its id.
    pub id: ExportId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The run whose pages it has.
    pub run: RunId,
    /// Its state.
    pub status: JobState,
    /// What is written, and where: a JSON object.
    pub request: String,
    /// Id of the request that queued it.
    pub request_id: String,
    /// When it was accepted.
    pub enqueued_at: DateTime<Utc>,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Whether it is to end as soon as it can.
    pub cancel_requested: bool,
    /// Attempts begun.
    pub attempts: u32,
    /// Pages written by the last attempt.
    pub pages: u64,
    /// Bytes that the bucket has of the last attempt.
    pub bytes: u64,
    /// Id of the upload that the last attempt began and did not end.
    pub upload: Option<String>,
    /// Why it failed: a code of the API's errors, and a message; of an attempt that is repeated,
    /// why that one failed.
    pub error: Option<(String, String)>,
}

impl Store {
    /// Queues an export of a run.
    #[crate::boxed]
    pub async fn create_export(&self, new: &NewExport<'_>) -> Result<ExportCreated, StoreError> {
        transact!(self.db, tx => {
            sql::projects::lock(tx, new.project).await?;
            let active: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM exports
                 WHERE project_id = $1 AND status IN ('queued', 'running')",
            )
            .bind(new.project.get())
            .fetch_one(&mut *tx)
            .await?;
            if active >= i64::from(new.most_active) {
                return Ok(ExportCreated::QueueFull);
            }
            let row: Option<ExportRow> = sqlx::query_as(concat!(
                "INSERT INTO exports (project_id, run_id, status, request, request_id, enqueued_at)
                 SELECT project_id, id, 'queued', $3, $4, $5 FROM runs
                 WHERE id = $1 AND project_id = $2
                 RETURNING ", columns!()
            ))
            .bind(new.run.get())
            .bind(new.project.get())
            .bind(new.request)
            .bind(new.request_id)
            .bind(to_ms(new.enqueued_at))
            .fetch_optional(&mut *tx)
            .await?;
            let Some(row) = row else {
                return Ok(ExportCreated::NoRun);
            };
            sql::notices::tell(tx, Topic::Work).await?;
            Ok(ExportCreated::New(Box::new(row.try_into()?)))
        })
    }

    /// An export of a run of the project.
    #[crate::boxed]
    pub async fn export(
        &self,
        project: ProjectId,
        run: RunId,
        id: ExportId,
    ) -> Result<Option<BucketExport>, StoreError> {
        let row: Option<ExportRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM exports
                 WHERE id = $1 AND run_id = $2 AND project_id = $3"
            ))
            .bind(id.get())
            .bind(run.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(BucketExport::try_from).transpose()
    }

    /// Exports of a run of the project, newest first.
    #[crate::boxed]
    pub async fn exports(
        &self,
        project: ProjectId,
        run: RunId,
        limit: u32,
    ) -> Result<Vec<BucketExport>, StoreError> {
        let rows: Vec<ExportRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM exports
                 WHERE run_id = $1 AND project_id = $2 ORDER BY id DESC LIMIT $3"
            ))
            .bind(run.get())
            .bind(project.get())
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(BucketExport::try_from).collect()
    }

    /// Asks for the end of an export: a queued one is cancelled at once, a running one is marked
    /// for its worker. `None` if the project has no such export.
    #[crate::boxed]
    pub async fn cancel_export(
        &self,
        project: ProjectId,
        run: RunId,
        id: ExportId,
        now: DateTime<Utc>,
    ) -> Result<Option<BucketExport>, StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE exports SET cancel_requested = 1,
                     status = CASE WHEN status = 'queued' THEN 'cancelled' ELSE status END,
                     finished_at = CASE WHEN status = 'queued' THEN $4 ELSE finished_at END
                 WHERE id = $1 AND run_id = $2 AND project_id = $3
                   AND status IN ('queued', 'running')",
            )
            .bind(id.get())
            .bind(run.get())
            .bind(project.get())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            sql::notices::tell(tx, Topic::Work).await?;
            let row: Option<ExportRow> = sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM exports
                 WHERE id = $1 AND run_id = $2 AND project_id = $3"
            ))
            .bind(id.get())
            .bind(run.get())
            .bind(project.get())
            .fetch_optional(&mut *tx)
            .await?;
            row.map(BucketExport::try_from).transpose()
        })
    }
}
