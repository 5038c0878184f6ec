//! Reading jobs.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{JobId, ProjectId};

use super::rows::JobRow;
use super::{Job, JobState, columns};
use crate::db::{read, signed};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// Selects jobs to list; newest first.
#[derive(Clone, Copy, Debug)]
pub struct JobFilter<'a> {
    /// Only those of this actor.
    pub actor: &'a str,
    /// Only those in this state.
    pub state: Option<JobState>,
    /// Most jobs to return.
    pub limit: u32,
    /// Number of jobs to skip.
    pub offset: u64,
}

/// What became of a job's webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobWebhook {
    /// `pending`, `delivered` or `dead`.
    pub status: String,
    /// Number of attempts.
    pub attempts: u32,
    /// Error of the last failed attempt.
    pub last_error: Option<String>,
}

#[derive(sqlx_macros::FromRow)]
struct FullRow {
    result: Option<String>,
    #[sqlx(flatten)]
    job: JobRow,
}

impl Store {
    /// A job of the project.
    #[crate::boxed]
    pub async fn job(&self, project: ProjectId, id: JobId) -> Result<Option<Job>, StoreError> {
        let row: Option<JobRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM jobs WHERE id = $1 AND project_id = $2"
            ))
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(Job::try_from).transpose()
    }

    /// A job of the project with the actor's answer, as JSON.
    #[crate::boxed]
    pub async fn job_result(
        &self,
        project: ProjectId,
        id: JobId,
    ) -> Result<Option<(Job, Option<String>)>, StoreError> {
        let row: Option<FullRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT result, ", columns!(), " FROM jobs WHERE id = $1 AND project_id = $2"
            ))
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(|row| Ok((row.job.try_into()?, row.result)))
            .transpose()
    }

    /// Jobs of the project, newest first.
    #[crate::boxed]
    pub async fn jobs(
        &self,
        project: ProjectId,
        filter: &JobFilter<'_>,
    ) -> Result<Vec<Job>, StoreError> {
        let rows: Vec<JobRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM jobs
                 WHERE project_id = $1 AND actor = $2 AND (status = $3 OR $3 = '')
                 ORDER BY id DESC LIMIT $4 OFFSET $5"
            ))
            .bind(project.get())
            .bind(filter.actor)
            .bind(filter.state.map_or("", JobState::as_str))
            .bind(i64::from(filter.limit))
            .bind(signed(filter.offset))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(Job::try_from).collect()
    }

    /// The webhook of an ended job of the project; `None` where there is no delivery.
    #[crate::boxed]
    pub async fn job_webhook(
        &self,
        project: ProjectId,
        id: JobId,
    ) -> Result<Option<JobWebhook>, StoreError> {
        let row: Option<(String, i64, Option<String>)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT state, attempts, last_error FROM deliveries
                 WHERE job_id = $1 AND project_id = $2 ORDER BY id DESC LIMIT 1",
            )
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(|(status, attempts, last_error)| JobWebhook {
            status,
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            last_error,
        }))
    }

    /// Jobs of every project that ended before `before`, at most `limit`.
    #[crate::boxed]
    pub async fn jobs_ended_before(
        &self,
        before: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<(ProjectId, JobId)>, StoreError> {
        let rows: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, id FROM jobs
                 WHERE status IN ('done', 'failed', 'cancelled') AND finished_at < $1
                 ORDER BY id LIMIT $2",
            )
            .bind(to_ms(before))
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|(project, job)| (ProjectId(project), JobId(job)))
            .collect())
    }
}
