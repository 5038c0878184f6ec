//! Who works on a run: leases with an epoch, so that a worker that was thought dead and
//! was not writes nothing any more.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use super::runs::{Row, Run, columns};
use crate::db::{Db, Store, read, transact};
use crate::error::StoreError;
use crate::time::{from_ms, to_ms};
use crate::webhook::{self, Owner, RunWebhook};

/// The right to work on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Whose it is.
    pub project: ProjectId,
    /// How often it has changed hands; every write names it.
    pub epoch: i64,
}

/// A run that was taken, with what its last worker left.
#[derive(Clone, Debug)]
pub struct LeasedRun {
    /// The right to it.
    pub lease: Lease,
    /// The run as it is now: running.
    pub run: Run,
    /// The engine's own notes, a JSON object.
    pub engine_state: String,
}

/// How a run ends.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// It got its seed: `done`, else `failed`.
    pub done: bool,
    /// Why it failed, or ended early.
    pub error_message: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Taken {
    lease_epoch: i64,
    engine_state: String,
    #[sqlx(flatten)]
    run: Row,
}

impl Store {
    /// Whether a run waits for a worker: cheaper than an attempt to take one.
    pub async fn has_waiting_run(&self, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT id FROM runs
                 WHERE status IN ('queued', 'running') AND lease_until <= $1 LIMIT 1",
            )
            .bind(to_ms(now))
            .fetch_optional(pool)
            .await?
        });
        Ok(found.is_some())
    }

    /// The next moment at which a host may be asked, for all nodes: after the end of a
    /// Retry-After ([`close_host`](Self::close_host)) and, with a Crawl-delay, so much after
    /// the moment that was reserved before, which this one reserves.
    pub async fn host_slot(
        &self,
        host: &str,
        now: DateTime<Utc>,
        delay: std::time::Duration,
    ) -> Result<DateTime<Utc>, StoreError> {
        let delay = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX / 4);
        let closed: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT next_at FROM crawl_hosts WHERE host = $1")
                .bind(host)
                .fetch_optional(pool)
                .await?
        });
        let now = to_ms(now).max(closed.unwrap_or_default());
        if delay == 0 {
            return Ok(from_ms(now));
        }
        // A row of its own: runs without a Crawl-delay do not wait for those with one.
        let host = format!("{host} crawl-delay");
        transact!(self.db, tx => {
            let next: i64 = sqlx::query_scalar(
                "INSERT INTO crawl_hosts (host, next_at) VALUES ($1, $2 + $3)
                 ON CONFLICT (host) DO UPDATE SET next_at =
                     $3 + CASE WHEN crawl_hosts.next_at > $2 THEN crawl_hosts.next_at ELSE $2 END
                 RETURNING next_at",
            )
            .bind(host.as_str())
            .bind(now)
            .bind(delay)
            .fetch_one(&mut *tx)
            .await?;
            Ok(from_ms(next.saturating_sub(delay)))
        })
    }

    /// Closes a host until then, for all nodes: a server asked for it.
    pub async fn close_host(&self, host: &str, until: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "INSERT INTO crawl_hosts (host, next_at) VALUES ($1, $2)
                 ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at
                 WHERE crawl_hosts.next_at < excluded.next_at",
            )
            .bind(host)
            .bind(to_ms(until))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Forgets hosts that have been open since then.
    pub async fn forget_hosts(&self, before: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query("DELETE FROM crawl_hosts WHERE next_at < $1")
                .bind(to_ms(before))
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// As [`lease_fair_run`](Self::lease_fair_run), of any project.
    pub async fn lease_run(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Option<LeasedRun>, StoreError> {
        self.lease_fair_run(owner, now, until, &[]).await
    }

    /// Takes a run that is queued, or running with a lease that has run out: of the project
    /// that has the fewest runs under way, the one that has waited longest. Those of `full`
    /// projects are left out. `until` is when the new lease runs out.
    pub async fn lease_fair_run(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        full: &[ProjectId],
    ) -> Result<Option<LeasedRun>, StoreError> {
        // SQLite has one writer at a time; PostgreSQL's nodes pass over each other's rows.
        let skip = match &self.db {
            Db::Lite(_) => "",
            Db::Pg(_) => "FOR UPDATE OF r SKIP LOCKED",
        };
        let mut others = String::new();
        for project in full {
            others.push_str(if others.is_empty() {
                " AND r.project_id NOT IN ("
            } else {
                ", "
            });
            others.push_str(&project.to_string());
        }
        if !others.is_empty() {
            others.push(')');
        }
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
             RETURNING lease_epoch, engine_state, {}",
            columns!()
        );
        let taken: Option<Taken> = transact!(self.db, tx => {
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
                    engine_state: taken.engine_state,
                })
            })
            .transpose()
    }

    /// Extends leases; those that are still ours. A run that is not among them was deleted
    /// or taken over.
    pub async fn extend_leases(
        &self,
        leases: &[Lease],
        until: DateTime<Utc>,
    ) -> Result<Vec<Lease>, StoreError> {
        // One order in every transaction, so that two nodes never wait for each other.
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

    /// Hands a run back, so that the next worker can take it at once; `false` when it is
    /// not ours any more.
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

    /// Notes what is known of the run's site; `false` when the lease is not ours any more.
    pub async fn note_site(
        &self,
        lease: Lease,
        ai_bot_policy: Option<&str>,
        llms_txt: Option<&str>,
        llms_full_txt: Option<&str>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE runs SET ai_bot_policy = $3, llms_txt = $4, llms_full_txt = $5
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.run.get())
            .bind(lease.epoch)
            .bind(ai_bot_policy)
            .bind(llms_txt)
            .bind(llms_full_txt)
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Ends a run and writes what its webhook is told, in one transaction; `false` when the
    /// lease is not ours any more.
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
                     lease_owner = NULL, lease_until = 0
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.run.get())
            .bind(lease.epoch)
            .bind(if ending.done { "done" } else { "failed" })
            .bind(to_ms(now))
            .bind(ending.error_message.as_deref())
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            if let Some(webhook) = webhook {
                let owner = Owner {
                    project: lease.project,
                    run: lease.run,
                    now,
                };
                webhook::insert!(tx, owner, webhook);
            }
            Ok(true)
        })
    }
}
