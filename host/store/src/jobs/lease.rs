//! Leases of jobs, which work as those of crawl runs: each has an epoch, so that a worker whose
//! lease was given to another one cannot write any more.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{JobId, ProjectId};

use super::rows::JobRow;
use super::{Job, JobProgress, columns};
use crate::db::{read, signed, storable, transact};
use crate::error::StoreError;
use crate::leases::{Except, Leased};
use crate::quota::NewUsage;
use crate::store::Store;
use crate::time::to_ms;

/// The right to work on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLease {
    /// The job.
    pub job: JobId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Number of leases of the job so far; every write names it.
    pub epoch: i64,
}

/// A leased job: its progress and its items begin anew.
#[derive(Clone, Debug)]
pub struct LeasedJob {
    /// Its lease.
    pub lease: JobLease,
    /// The job in its current state: running.
    pub job: Job,
    /// The validated input as JSON; may carry credentials.
    pub input: String,
    /// Jobs of its project that workers hold, this one included. Of two workers that lease at the same
    /// time, one is told of the other's.
    pub held: u64,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// With the actor's answer, as JSON.
    Done(String),
    /// With an error: a code of the API's errors, and a message.
    Failed {
        /// The code.
        code: &'static str,
        /// The message.
        message: String,
    },
    /// At its owner's request.
    Cancelled,
}

impl JobOutcome {
    /// The state of a job that ended so.
    pub const fn state(&self) -> super::JobState {
        match self {
            Self::Done(_) => super::JobState::Done,
            Self::Failed { .. } => super::JobState::Failed,
            Self::Cancelled => super::JobState::Cancelled,
        }
    }
}

/// The webhook delivery of a job that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDelivery {
    /// Message id sent to receivers (header `webhook-id`); unique.
    pub message_id: String,
    /// Name of the event.
    pub event: &'static str,
    /// URL of the receiver.
    pub url: String,
    /// scheme://host:port of the URL.
    pub target: String,
    /// The body as it is sent.
    pub payload: String,
}

/// The end of a job: everything is written in one transaction.
#[derive(Debug)]
pub struct JobEnding {
    /// How it ended.
    pub outcome: JobOutcome,
    /// What is billed.
    pub usages: Vec<NewUsage>,
    /// Its webhook.
    pub delivery: Option<JobDelivery>,
    /// The current time.
    pub at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
struct LeasedRow {
    lease_epoch: i64,
    input: String,
    #[sqlx(flatten)]
    job: JobRow,
}

impl Store {
    /// Whether a job waits for a worker; cheaper than trying to lease one.
    #[crate::boxed]
    pub async fn has_waiting_job(&self, now: DateTime<Utc>) -> Result<bool, StoreError> {
        Leased::Jobs.is_waiting(&self.db, now).await
    }

    /// When the first lease after `now` runs out that is not `owner`'s; `None` without one.
    #[crate::boxed]
    pub async fn next_job_lease_end(
        &self,
        owner: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        Leased::Jobs.next_end(&self.db, owner, now).await
    }

    /// The projects of which workers hold jobs, and how many: those of all nodes.
    #[crate::boxed]
    pub async fn held_jobs(&self, now: DateTime<Utc>) -> Result<Vec<(ProjectId, u64)>, StoreError> {
        let held: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, count(*) FROM jobs
                 WHERE status = 'running' AND lease_until > $1 GROUP BY project_id",
            )
            .bind(to_ms(now))
            .fetch_all(pool)
            .await?
        });
        let held = held.into_iter();
        Ok(held
            .map(|(project, jobs)| (ProjectId(project), jobs.unsigned_abs()))
            .collect())
    }

    /// Leases a job that is queued, or running with an expired lease. It chooses the project with
    /// the fewest leased jobs, and of that project the job that has waited longest. Those of
    /// `except` are left out. `until` is the expiry of the new lease. What an earlier
    /// attempt emitted is no longer shown.
    #[crate::boxed]
    pub async fn lease_fair_job(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        except: &Except<JobId>,
    ) -> Result<Option<LeasedJob>, StoreError> {
        // Locks the jobs only: the counts of a LEFT JOIN cannot be locked.
        let skip = if self.is_shared() {
            "FOR UPDATE OF j SKIP LOCKED"
        } else {
            ""
        };
        let others = except.sql("j");
        let sql = format!(
            "UPDATE jobs SET status = 'running', started_at = COALESCE(started_at, $2),
                 lease_owner = $1, lease_until = $3, lease_epoch = lease_epoch + 1,
                 attempts = attempts + 1, item_count = 0, progress_done = 0,
                 progress_total = NULL, progress_message = NULL, revision = revision + 1
             WHERE id = (
                 SELECT j.id FROM jobs j LEFT JOIN (
                     SELECT project_id, count(*) AS jobs FROM jobs
                     WHERE status = 'running' AND lease_until > $2 GROUP BY project_id
                 ) busy ON busy.project_id = j.project_id
                 WHERE j.status IN ('queued', 'running') AND j.lease_until <= $2{others}
                 ORDER BY COALESCE(busy.jobs, 0), j.id LIMIT 1 {skip})
             RETURNING lease_epoch, input, {}",
            columns!()
        );
        let taken: Option<(LeasedRow, u64)> = transact!(self.db, tx => {
            let taken: Option<LeasedRow> = sqlx::query_as(sqlx::AssertSqlSafe(sql.as_str()))
                .bind(owner)
                .bind(to_ms(now))
                .bind(to_ms(until))
                .fetch_optional(&mut *tx)
                .await?;
            let Some(taken) = taken else {
                return Ok(None);
            };
            let project = ProjectId(taken.job.project_id);
            if taken.lease_epoch > 1 {
                sql::jobs::note_removal(tx, project, JobId(taken.job.id), taken.lease_epoch).await?;
            }
            let held = sql::jobs::held(tx, project, now).await?;
            Ok(Some((taken, held)))
        })?;
        taken
            .map(|(taken, held)| {
                let job = Job::try_from(taken.job)?;
                Ok(LeasedJob {
                    lease: JobLease {
                        job: job.id,
                        project: job.project,
                        epoch: taken.lease_epoch,
                    },
                    job,
                    input: taken.input,
                    held,
                })
            })
            .transpose()
    }

    /// Extends leases; returns those that this worker still holds, and whether the end of the job
    /// is asked for. The job of any other was deleted or taken over.
    #[crate::boxed]
    pub async fn extend_job_leases(
        &self,
        leases: &[JobLease],
        until: DateTime<Utc>,
    ) -> Result<Vec<(JobLease, bool)>, StoreError> {
        // Sorted in every transaction, so that two nodes never deadlock.
        let mut leases = leases.to_vec();
        leases.sort_unstable_by_key(|lease| lease.job);
        transact!(self.db, tx => {
            let mut ours = Vec::with_capacity(leases.len());
            for lease in leases {
                let cancel: Option<i64> = sqlx::query_scalar(
                    "UPDATE jobs SET lease_until = $3
                     WHERE id = $1 AND lease_epoch = $2 AND status = 'running'
                     RETURNING cancel_requested",
                )
                .bind(lease.job.get())
                .bind(lease.epoch)
                .bind(to_ms(until))
                .fetch_optional(&mut *tx)
                .await?;
                ours.extend(cancel.map(|cancel| (lease, cancel != 0)));
            }
            Ok(ours)
        })
    }

    /// Hands a job back, so that another worker can take it at once; the attempt does not count.
    /// `false` if the lease is no longer held.
    #[crate::boxed]
    pub async fn release_job(&self, lease: JobLease) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE jobs SET lease_owner = NULL, lease_until = 0, attempts = attempts - 1
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.job.get())
            .bind(lease.epoch)
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Stores progress and further items, `first` being the place of the first of them; `false` if
    /// the lease is no longer held.
    #[crate::boxed]
    pub async fn write_job(
        &self,
        lease: JobLease,
        progress: &JobProgress,
        first: u64,
        items: &[String],
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE jobs SET progress_done = $3, progress_total = $4, progress_message = $5,
                     item_count = $6, revision = revision + 1
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.job.get())
            .bind(lease.epoch)
            .bind(signed(progress.done))
            .bind(progress.total.map(signed))
            .bind(progress.message.as_deref().map(storable))
            .bind(signed(first.saturating_add(items.len() as u64)))
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            sql::job_items::insert(tx, lease, first, items).await?;
            Ok(true)
        })
    }

    /// Ends a job, bills it and writes its webhook delivery; `false` if the lease is no longer
    /// held, and then nothing is billed.
    #[crate::boxed]
    pub async fn end_job(&self, lease: JobLease, ending: &JobEnding) -> Result<bool, StoreError> {
        let (result, error) = match &ending.outcome {
            JobOutcome::Done(result) => (Some(result.as_str()), None),
            JobOutcome::Failed { code, message } => (None, Some((*code, message.as_str()))),
            JobOutcome::Cancelled => (None, None),
        };
        let sum = |of: fn(&NewUsage) -> u64| signed(ending.usages.iter().map(of).sum());
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE jobs SET status = $3, finished_at = $4, result = $5, error_code = $6,
                     error_message = $7, pages = $8, cloud_pages = $9, cost_micros = $10,
                     lease_owner = NULL, lease_until = 0, revision = revision + 1
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.job.get())
            .bind(lease.epoch)
            .bind(ending.outcome.state().as_str())
            .bind(to_ms(ending.at))
            .bind(result)
            .bind(error.map(|(code, _)| code))
            .bind(error.map(|(_, message)| storable(message)))
            .bind(sum(|usage| usage.pages))
            .bind(sum(|usage| usage.cloud_pages))
            .bind(sum(|usage| usage.cost_micros))
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            let usages: Vec<&NewUsage> = ending.usages.iter().collect();
            if !usages.is_empty() {
                sql::usage::bill(tx, &usages).await?;
            }
            if let Some(delivery) = &ending.delivery {
                sql::outbox::insert_of_job(tx, lease, delivery, ending.at).await?;
            }
            Ok(true)
        })
    }
}
