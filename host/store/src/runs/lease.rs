//! Leases of runs. Each lease has an epoch, so that a worker whose lease was given to another one
//! cannot write any more.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use super::rows::RunRow;
use super::{Run, columns};
use crate::db::{storable, transact};
use crate::error::StoreError;
use crate::leases::{Except, Leased};
use crate::store::Store;
use crate::time::to_ms;
use crate::webhook::{Owner, RunWebhook};

/// The right to work on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Number of leases of the run so far; every write names it.
    pub epoch: i64,
}

/// A leased run.
#[derive(Clone, Debug)]
pub struct LeasedRun {
    /// Its lease.
    pub lease: Lease,
    /// The run in its current state: running.
    pub run: Run,
}

/// The end of a run.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Whether the seed was fetched: the run is `done`, else `failed`.
    pub done: bool,
    /// Why it failed or ended early.
    pub error_message: Option<String>,
}

#[derive(sqlx_macros::FromRow)]
struct LeasedRow {
    lease_epoch: i64,
    #[sqlx(flatten)]
    run: RunRow,
}

impl Store {
    /// Whether a run waits for a worker; cheaper than trying to lease one.
    #[crate::boxed]
    pub async fn has_waiting_run(&self, now: DateTime<Utc>) -> Result<bool, StoreError> {
        Leased::Runs.is_waiting(&self.db, now).await
    }

    /// When the first lease after `now` runs out that is not `owner`'s; `None` without one.
    #[crate::boxed]
    pub async fn next_lease_end(
        &self,
        owner: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        Leased::Runs.next_end(&self.db, owner, now).await
    }

    /// Same as [`lease_fair_run`](Self::lease_fair_run), for any project.
    #[crate::boxed]
    pub async fn lease_run(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Option<LeasedRun>, StoreError> {
        let except = Except::default();
        self.lease_fair_run(owner, now, until, &except).await
    }

    /// Leases a run that is queued, or running with an expired lease. It chooses the project with
    /// the fewest leased runs, and of that project the run that has waited longest. Those of
    /// `except` are left out. `until` is the expiry of the new lease.
    #[crate::boxed]
    pub async fn lease_fair_run(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        except: &Except<RunId>,
    ) -> Result<Option<LeasedRun>, StoreError> {
        // Locks the runs only: the counts of a LEFT JOIN cannot be locked.
        let skip = if self.is_shared() {
            "FOR UPDATE OF r SKIP LOCKED"
        } else {
            ""
        };
        let others = except.sql("r");
        let sql = format!(
            "UPDATE runs SET status = 'running', started_at = COALESCE(started_at, $2),
                 lease_owner = $1, lease_until = $3, lease_epoch = lease_epoch + 1
             WHERE id = (
                 SELECT r.id FROM runs r LEFT JOIN (
                     SELECT project_id, count(*) AS runs FROM runs
                     WHERE status = 'running' AND lease_until > $2 GROUP BY project_id
                 ) busy ON busy.project_id = r.project_id
                 WHERE r.status IN ('queued', 'running') AND r.lease_until <= $2{others}
                 ORDER BY COALESCE(busy.runs, 0), r.id LIMIT 1 {skip})
             RETURNING lease_epoch, {}",
            columns!()
        );
        let taken: Option<LeasedRow> = transact!(self.db, tx => {
            Ok(sqlx::query_as(sqlx::AssertSqlSafe(sql.as_str()))
                .bind(owner)
                .bind(to_ms(now))
                .bind(to_ms(until))
                .fetch_optional(&mut *tx)
                .await?)
        })?;
        taken
            .map(|taken| {
                let run = Run::try_from(taken.run)?;
                Ok(LeasedRun {
                    lease: Lease {
                        run: run.id,
                        project: run.project,
                        epoch: taken.lease_epoch,
                    },
                    run,
                })
            })
            .transpose()
    }

    /// Extends leases; returns those that this worker still holds. The run of any other was deleted
    /// or taken over.
    #[crate::boxed]
    pub async fn extend_leases(
        &self,
        leases: &[Lease],
        until: DateTime<Utc>,
    ) -> Result<Vec<Lease>, StoreError> {
        // Sorted in every transaction, so that two nodes never deadlock.
        let mut leases = leases.to_vec();
        leases.sort_unstable_by_key(|lease| lease.run);
        transact!(self.db, tx => {
            let mut ours = Vec::with_capacity(leases.len());
            for lease in leases {
                let done = sqlx::query(
                    "UPDATE runs SET lease_until = $3
                     WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
                )
                .bind(lease.run.get())
                .bind(lease.epoch)
                .bind(to_ms(until))
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 1 {
                    ours.push(lease);
                }
            }
            Ok(ours)
        })
    }

    /// Releases the lease, so that another worker can take the run at once; `false` if the lease
    /// is no longer held.
    #[crate::boxed]
    pub async fn release_lease(&self, lease: Lease) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE runs SET lease_owner = NULL, lease_until = 0
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.run.get())
            .bind(lease.epoch)
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Stores what is known about the run's site; `false` if the lease is no longer held.
    #[crate::boxed]
    pub async fn note_site(
        &self,
        lease: Lease,
        ai_bot_policy: Option<&str>,
        llms_txt: Option<&str>,
        llms_full_txt: Option<&str>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE runs SET ai_bot_policy = $3
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.run.get())
            .bind(lease.epoch)
            .bind(ai_bot_policy.map(storable))
            .execute(&mut *tx)
            .await?;
            let is_held = done.rows_affected() == 1;
            if is_held {
                sql::run_texts::put(tx, lease, llms_txt, llms_full_txt).await?;
            }
            Ok(is_held)
        })
    }

    /// Ends a run and writes its webhook deliveries, in one transaction; `false` if the lease
    /// is no longer held. URLs that a done run knows of and has not fetched are skipped for its budget.
    #[crate::boxed]
    pub async fn end_run(
        &self,
        lease: Lease,
        ending: &Ending,
        webhook: Option<&RunWebhook>,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE runs SET status = $3, finished_at = $4, error_message = $5,
                     skipped_budget = CASE WHEN $3 = 'done' THEN skipped_budget + queued
                         ELSE skipped_budget END,
                     queued = CASE WHEN $3 = 'done' THEN 0 ELSE queued END,
                     lease_owner = NULL, lease_until = 0
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.run.get())
            .bind(lease.epoch)
            .bind(if ending.done { "done" } else { "failed" })
            .bind(to_ms(now))
            .bind(ending.error_message.as_deref().map(storable))
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            sql::run_parts::end(tx, lease.project, lease.run).await?;
            sql::page_feeds::run_ended(tx, lease.run, now).await?;
            if let Some(webhook) = webhook {
                let owner = Owner {
                    project: lease.project,
                    run: lease.run,
                    now,
                };
                sql::outbox::insert(tx, owner, webhook).await?;
            }
            Ok(true)
        })
    }
}
