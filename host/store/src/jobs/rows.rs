//! Rows of `jobs`: reading them, and the statements within transactions.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{JobId, ProjectId};

use super::{Job, JobCreated, JobProgress, JobState, NewJob};
use crate::db::per_database;
use crate::error::StoreError;
use crate::notices::Topic;
use crate::runs::IDEMPOTENT;
use crate::time::{from_ms, to_ms};

#[derive(sqlx_macros::FromRow)]
pub(super) struct JobRow {
    pub(super) id: i64,
    pub(super) project_id: i64,
    actor: String,
    status: String,
    request_id: String,
    webhook_url: Option<String>,
    enqueued_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    cancel_requested: i64,
    attempts: i64,
    progress_done: i64,
    progress_total: Option<i64>,
    progress_message: Option<String>,
    item_count: i64,
    error_code: Option<String>,
    error_message: Option<String>,
    pages: i64,
    cloud_pages: i64,
    cost_micros: i64,
    revision: i64,
}

/// The columns of [`JobRow`].
macro_rules! columns {
    () => {
        "id, project_id, actor, status, request_id, webhook_url, enqueued_at, started_at,
         finished_at, cancel_requested, attempts, progress_done, progress_total,
         progress_message, item_count, error_code, error_message, pages, cloud_pages,
         cost_micros, revision"
    };
}
pub(super) use columns;

impl TryFrom<JobRow> for Job {
    type Error = StoreError;

    fn try_from(row: JobRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: JobId(row.id),
            project: ProjectId(row.project_id),
            actor: row.actor,
            status: row.status.parse().map_err(StoreError::Damaged)?,
            request_id: row.request_id,
            webhook_url: row.webhook_url,
            enqueued_at: from_ms(row.enqueued_at),
            started_at: row.started_at.map(from_ms),
            finished_at: row.finished_at.map(from_ms),
            cancel_requested: row.cancel_requested != 0,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            progress: JobProgress {
                done: row.progress_done.unsigned_abs(),
                total: row.progress_total.map(i64::unsigned_abs),
                message: row.progress_message,
            },
            item_count: row.item_count.unsigned_abs(),
            error: row.error_code.zip(row.error_message),
            pages: row.pages.unsigned_abs(),
            cloud_pages: row.cloud_pages.unsigned_abs(),
            cost_micros: row.cost_micros.unsigned_abs(),
            revision: row.revision.unsigned_abs(),
        })
    }
}

/// A job with the digest of the request that created it.
#[derive(sqlx_macros::FromRow)]
struct KeyedRow {
    idem_digest: Option<Vec<u8>>,
    #[sqlx(flatten)]
    job: JobRow,
}

per_database! {
    /// What an Idempotency-Key that was used before stands for.
    pub(crate) async fn created_before(
        conn: &mut Conn,
        new: &NewJob<'_>,
    ) -> Result<Option<JobCreated>, StoreError> {
        let Some((key, digest)) = new.idem else {
            return Ok(None);
        };
        forget_key(conn, new, key, new.enqueued_at - IDEMPOTENT).await?;
        Ok(by_key(conn, new, key).await?.map(|(job, known)| match known == digest {
            true => JobCreated::Replayed(Box::new(job)),
            false => JobCreated::OtherBody,
        }))
    }

    /// Frees an Idempotency-Key that a job accepted until `before` has.
    async fn forget_key(
        conn: &mut Conn,
        new: &NewJob<'_>,
        key: &str,
        before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE jobs SET idem_key = NULL, idem_digest = NULL
             WHERE project_id = $1 AND actor = $2 AND idem_key = $3 AND enqueued_at <= $4",
        )
        .bind(new.project.get())
        .bind(new.actor)
        .bind(key)
        .bind(to_ms(before))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// The job created with an Idempotency-Key, and the SHA-256 of its request's body.
    async fn by_key(
        conn: &mut Conn,
        new: &NewJob<'_>,
        key: &str,
    ) -> Result<Option<(Job, Vec<u8>)>, StoreError> {
        let row: Option<KeyedRow> = sqlx::query_as(concat!(
            "SELECT idem_digest, ", columns!(), " FROM jobs
             WHERE project_id = $1 AND actor = $2 AND idem_key = $3"
        ))
        .bind(new.project.get())
        .bind(new.actor)
        .bind(key)
        .fetch_optional(&mut *conn)
        .await?;
        row.map(|row| Ok((row.job.try_into()?, row.idem_digest.unwrap_or_default())))
            .transpose()
    }

    /// Number of queued and running jobs of the project, and the bytes of their inputs.
    pub(crate) async fn count_active(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<(u64, u64), StoreError> {
        // `+ 0` makes SQLite use the index on active jobs, of which there are few.
        let (active, bytes): (i64, i64) = sqlx::query_as(
            "SELECT count(*), CAST(COALESCE(sum(octet_length(input)), 0) AS BIGINT) FROM jobs
             WHERE status IN ('queued', 'running') AND project_id + 0 = $1",
        )
        .bind(project.get())
        .fetch_one(&mut *conn)
        .await?;
        Ok((active.unsigned_abs(), bytes.unsigned_abs()))
    }

    /// Number of the project's jobs that workers hold. No other transaction that counts them ends before
    /// this one.
    pub(crate) async fn held(
        conn: &mut Conn,
        project: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        if IS_SHARED {
            // The two-number form, so that it meets no other use of such locks.
            sqlx::query("SELECT pg_advisory_xact_lock(3, CAST($1 % 2147483647 AS INTEGER))")
                .bind(project.get())
                .execute(&mut *conn)
                .await?;
        }
        // `+ 0` makes SQLite use the index on leases.
        let held: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM jobs
             WHERE status = 'running' AND lease_until > $2 AND project_id + 0 = $1",
        )
        .bind(project.get())
        .bind(to_ms(now))
        .fetch_one(&mut *conn)
        .await?;
        Ok(held.unsigned_abs())
    }

    /// Queues a job.
    pub(crate) async fn insert(conn: &mut Conn, new: &NewJob<'_>) -> Result<Job, StoreError> {
        let row: JobRow = sqlx::query_as(concat!(
            "INSERT INTO jobs (project_id, actor, status, input, request_id, webhook_url,
                 enqueued_at, idem_key, idem_digest)
             VALUES ($1, $2, 'queued', $3, $4, $5, $6, $7, $8)
             RETURNING ", columns!()
        ))
        .bind(new.project.get())
        .bind(new.actor)
        .bind(new.input)
        .bind(new.request_id)
        .bind(new.webhook_url)
        .bind(to_ms(new.enqueued_at))
        .bind(new.idem.map(|(key, _)| key))
        .bind(new.idem.map(|(_, digest)| digest.as_slice()))
        .fetch_one(&mut *conn)
        .await?;
        sql::notices::tell(conn, Topic::Work).await?;
        row.try_into()
    }

    /// Cancels a queued job, or marks a running one; its state then.
    pub(crate) async fn cancel(
        conn: &mut Conn,
        project: ProjectId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Option<JobState>, StoreError> {
        let word: Option<String> = sqlx::query_scalar(
            "UPDATE jobs SET
                 status = CASE WHEN status = 'queued' THEN 'cancelled' ELSE status END,
                 finished_at = CASE WHEN status = 'queued' THEN $3 ELSE finished_at END,
                 cancel_requested = 1, revision = revision + 1
             WHERE id = $1 AND project_id = $2 AND status IN ('queued', 'running')
             RETURNING status",
        )
        .bind(job.get())
        .bind(project.get())
        .bind(to_ms(now))
        .fetch_optional(&mut *conn)
        .await?;
        let word = match word {
            Some(word) => Some(word),
            None => {
                sqlx::query_scalar("SELECT status FROM jobs WHERE id = $1 AND project_id = $2")
                    .bind(job.get())
                    .bind(project.get())
                    .fetch_optional(&mut *conn)
                    .await?
            }
        };
        word.map(|word: String| word.parse().map_err(StoreError::Damaged))
            .transpose()
    }

    /// Deletes a job; its items follow.
    pub(crate) async fn delete(
        conn: &mut Conn,
        project: ProjectId,
        job: JobId,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query("DELETE FROM jobs WHERE id = $1 AND project_id = $2")
            .bind(job.get())
            .bind(project.get())
            .execute(&mut *conn)
            .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        note_removal(conn, project, job, i64::MAX).await?;
        Ok(true)
    }

    /// Notes that items of earlier leases than `before` are to be removed.
    pub(crate) async fn note_removal(
        conn: &mut Conn,
        project: ProjectId,
        job: JobId,
        before: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO job_removals (job_id, project_id, before_epoch) VALUES ($1, $2, $3)
             ON CONFLICT (job_id) DO UPDATE SET before_epoch = excluded.before_epoch",
        )
        .bind(job.get())
        .bind(project.get())
        .bind(before)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}
