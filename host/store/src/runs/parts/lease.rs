//! Leases of parts: opened and closed by the run's worker, held by those of other nodes.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use super::super::rows::{RunRow, columns};
use super::super::{Lease, Run};
use super::{LeasedPart, PartLease, PartState};
use crate::db::{none_of, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

#[derive(sqlx_macros::FromRow)]
struct TakenRow {
    part: i64,
    part_epoch: i64,
    concurrency: Option<i64>,
    #[sqlx(flatten)]
    run: RunRow,
}

impl Store {
    /// Opens a part of a run, for any other node to lease; `false` if the run's lease is no longer
    /// held.
    #[crate::boxed]
    pub async fn open_part(
        &self,
        lease: Lease,
        part: i64,
        concurrency: Option<u32>,
    ) -> Result<bool, StoreError> {
        // The run neither ends nor is deleted before this commits: its parts would outlive it.
        let insert = format!(
            // Epochs of parts of the same number under two leases of the run never meet.
            "INSERT INTO run_parts (run_id, part, project_id, concurrency, lease_epoch)
             SELECT id, $3, project_id, $4, lease_epoch * 1000000 FROM runs
             WHERE id = $1 AND lease_epoch = $2 AND status = 'running'{}",
            self.lock_shared()
        );
        transact!(self.db, tx => {
            let done = sqlx::query(sqlx::AssertSqlSafe(insert.as_str()))
            .bind(lease.run.get())
            .bind(lease.epoch)
            .bind(part)
            .bind(concurrency.map(i64::from))
            .execute(&mut *tx)
            .await?;
            sql::notices::tell(tx, Topic::Work).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// The parts of a run, by number.
    #[crate::boxed]
    pub async fn parts(&self, run: RunId) -> Result<Vec<PartState>, StoreError> {
        let rows: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT part, lease_until FROM run_parts WHERE run_id = $1 ORDER BY part",
            )
            .bind(run.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|(part, until)| PartState {
                part,
                lease_until: from_ms(until),
            })
            .collect())
    }

    /// Sets the concurrent requests of each part of a run; their workers learn of it when they
    /// extend their leases.
    #[crate::boxed]
    pub async fn set_part_concurrency(&self, run: RunId, each: u32) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query("UPDATE run_parts SET concurrency = $2 WHERE run_id = $1")
                .bind(run.get())
                .bind(i64::from(each))
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Closes a part that nobody leases: what was lent to it waits again. `false` if somebody has
    /// leased it.
    #[crate::boxed]
    pub async fn close_part(
        &self,
        project: ProjectId,
        run: RunId,
        part: i64,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "DELETE FROM run_parts WHERE run_id = $1 AND part = $2 AND lease_until <= $3",
            )
            .bind(run.get())
            .bind(part)
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            sql::frontier::take_back(tx, project, run, Some(part)).await?;
            Ok(true)
        })
    }

    /// Closes all parts of a run: their workers can write no more. Their reports stay.
    #[crate::boxed]
    pub async fn close_parts(&self, project: ProjectId, run: RunId) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        transact!(self.db, tx => sql::run_parts::close_all(tx, project, run).await)
    }

    /// Leases a part that nobody leases, of a run that is not one of `except`: that of the run with
    /// the fewest parts at work. `until` is the end of the lease.
    #[crate::boxed]
    pub async fn lease_part(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        except: &[RunId],
    ) -> Result<Option<LeasedPart>, StoreError> {
        if !self.is_shared() || !self.has_free_part(now).await? {
            return Ok(None);
        }
        let others = none_of("p.run_id", except);
        let skip = self.skip_locked();
        let pick = format!(
            "SELECT p.run_id, p.part FROM run_parts p
             WHERE p.lease_until <= $1{others}
             ORDER BY (SELECT count(*) FROM run_parts busy
                       WHERE busy.run_id = p.run_id AND busy.lease_until > $1), p.run_id, p.part
             LIMIT 1{skip}"
        );
        let taken: Option<TakenRow> = transact!(self.db, tx => {
            let picked: Option<(i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(pick.as_str()))
                .bind(to_ms(now))
                .fetch_optional(&mut *tx)
                .await?;
            let Some((run, part)) = picked else {
                return Ok(None);
            };
            sqlx::query(
                "UPDATE run_parts SET lease_owner = $3, lease_until = $4,
                     lease_epoch = lease_epoch + 1
                 WHERE run_id = $1 AND part = $2",
            )
            .bind(run)
            .bind(part)
            .bind(owner)
            .bind(to_ms(until))
            .execute(&mut *tx)
            .await?;
            sql::notices::tell(tx, Topic::Parts).await?;
            Ok(sqlx::query_as(concat!(
                "SELECT p.part, p.lease_epoch AS part_epoch, p.concurrency, r.* FROM (
                     SELECT ", columns!(), " FROM runs
                     WHERE id = $1 AND status = 'running') r
                 JOIN run_parts p ON p.run_id = r.id AND p.part = $2"
            ))
            .bind(run)
            .bind(part)
            .fetch_optional(&mut *tx)
            .await?)
        })?;
        taken
            .map(|taken| {
                let run = Run::try_from(taken.run)?;
                Ok(LeasedPart {
                    lease: PartLease {
                        run: run.id,
                        part: taken.part,
                        project: run.project,
                        epoch: taken.part_epoch,
                    },
                    run,
                    concurrency: taken.concurrency.and_then(|many| u32::try_from(many).ok()),
                })
            })
            .transpose()
    }

    /// Whether a part waits for a worker; cheaper than trying to lease one.
    async fn has_free_part(&self, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT run_id FROM run_parts WHERE lease_until <= $1 LIMIT 1")
                .bind(to_ms(now))
                .fetch_optional(pool)
                .await?
        });
        Ok(found.is_some())
    }

    /// When the first lease of a part after `now` runs out that is not `owner`'s; `None` without one.
    #[crate::boxed]
    pub async fn next_part_lease_end(
        &self,
        owner: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let next: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT CAST(min(lease_until) AS BIGINT) FROM run_parts
                 WHERE lease_until > $1 AND lease_owner <> $2",
            )
            .bind(to_ms(now))
            .bind(owner)
            .fetch_one(pool)
            .await?
        });
        Ok(next.map(from_ms))
    }

    /// Extends leases of parts; returns those that this worker still holds, with the concurrent
    /// requests that each has now.
    #[crate::boxed]
    pub async fn extend_part_leases(
        &self,
        leases: &[PartLease],
        until: DateTime<Utc>,
    ) -> Result<Vec<(PartLease, Option<u32>)>, StoreError> {
        // Sorted in every transaction, so that two nodes never deadlock.
        let mut leases = leases.to_vec();
        leases.sort_unstable();
        transact!(self.db, tx => {
            let mut ours = Vec::with_capacity(leases.len());
            for lease in leases {
                let held: Option<Option<i64>> = sqlx::query_scalar(
                    "UPDATE run_parts SET lease_until = $4
                     WHERE run_id = $1 AND part = $2 AND lease_epoch = $3 RETURNING concurrency",
                )
                .bind(lease.run.get())
                .bind(lease.part)
                .bind(lease.epoch)
                .bind(to_ms(until))
                .fetch_optional(&mut *tx)
                .await?;
                if let Some(concurrency) = held {
                    ours.push((lease, concurrency.and_then(|many| u32::try_from(many).ok())));
                }
            }
            Ok(ours)
        })
    }

    /// Releases the lease of a part, so that another worker can take it at once.
    #[crate::boxed]
    pub async fn release_part(&self, lease: PartLease) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE run_parts SET lease_owner = NULL, lease_until = 0
                 WHERE run_id = $1 AND part = $2 AND lease_epoch = $3",
            )
            .bind(lease.run.get())
            .bind(lease.part)
            .bind(lease.epoch)
            .execute(&mut *tx)
            .await?;
            sql::notices::tell(tx, Topic::Parts).await
        })
    }

    /// Closes a part by its own worker, which cannot go on: what was lent to it waits again.
    #[crate::boxed]
    pub async fn give_up_part(&self, lease: PartLease) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "DELETE FROM run_parts WHERE run_id = $1 AND part = $2 AND lease_epoch = $3",
            )
            .bind(lease.run.get())
            .bind(lease.part)
            .bind(lease.epoch)
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 1 {
                sql::frontier::take_back(tx, lease.project, lease.run, Some(lease.part)).await?;
                sql::notices::tell(tx, Topic::Parts).await?;
            }
            Ok(())
        })
    }

    /// Whether the lease of a part is held.
    #[crate::boxed]
    pub async fn holds_part(&self, lease: PartLease) -> Result<bool, StoreError> {
        let held: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT part FROM run_parts
                 WHERE run_id = $1 AND part = $2 AND lease_epoch = $3",
            )
            .bind(lease.run.get())
            .bind(lease.part)
            .bind(lease.epoch)
            .fetch_optional(pool)
            .await?
        });
        Ok(held.is_some())
    }
}
