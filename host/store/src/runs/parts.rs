//! The tables `run_parts` and `run_reports`: work on one run by several nodes.
//!
//! The worker that leases a run decides alone what is fetched. It may lend URLs to a part of the
//! run, which another node leases. That node fetches them and commits, in one transaction, their
//! pages, their bills and a report for each URL; the run's worker reads the reports and commits
//! what follows from them (states of URLs, discovered URLs, counters) as for its own fetches.
//! A lease of a part has an epoch, as that of a run.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use super::rows::RunRow;
use super::{Lease, Run, columns};
use crate::crawl::FrontierRow;
use crate::db::{per_database, pieces, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// The right to work on a part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartLease {
    /// The run.
    pub run: RunId,
    /// Number of the part within the run.
    pub part: i64,
    /// The project that owns the run.
    pub project: ProjectId,
    /// Number of leases of the part so far; every write names it.
    pub epoch: i64,
}

/// A leased part of a run.
#[derive(Clone, Debug)]
pub struct LeasedPart {
    /// Its lease.
    pub lease: PartLease,
    /// The run, which another worker leases.
    pub run: Run,
    /// The engine's state of the run: a JSON object that only the engine reads.
    pub engine_state: String,
    /// Concurrent requests of the part; `None`: as many as the origin can handle.
    pub concurrency: Option<u32>,
}

/// A part as its run's worker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartState {
    /// Its number.
    pub part: i64,
    /// The end of its lease; the beginning of 1970 if nobody leases it.
    pub lease_until: DateTime<Utc>,
}

/// What became of a lent URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReport {
    /// Its position in the order of discovery.
    pub seq: i64,
    /// A JSON object that only the engine reads.
    pub report: String,
}

/// A report of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReport {
    /// Its place in the order of the part's reports.
    pub id: i64,
    /// The URL's position in the order of discovery.
    pub seq: i64,
    /// Whether its page was stored with the report.
    pub stored: bool,
    /// A JSON object that only the engine reads.
    pub report: String,
}

/// A URL lent to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LentUrl {
    /// Its place in what was lent to the part.
    pub number: i64,
    /// The URL.
    pub url: FrontierRow,
}

/// What a batch of a run with parts has besides.
#[derive(Clone, Debug, Default)]
pub struct BatchParts {
    /// The part whose worker writes the batch; `None` for the run's worker.
    pub part: Option<PartLease>,
    /// Reports of the part, about URLs whose pages are in the batch, and others.
    pub reports: Vec<NewReport>,
    /// URLs whose reports the run's worker has read: these are deleted.
    pub read: Vec<i64>,
    /// Pages that parts stored, by the reports read.
    pub pages: u64,
    /// Whether other nodes store pages of the run, too. Pages get their ids in the order of the
    /// commits then.
    pub has_parts: bool,
}

#[derive(sqlx_macros::FromRow)]
struct TakenRow {
    part: i64,
    part_epoch: i64,
    concurrency: Option<i64>,
    engine_state: String,
    #[sqlx(flatten)]
    run: RunRow,
}

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

per_database! {
    /// Whether the lease of a part is held. Until the transaction ends, nobody can take it.
    pub(crate) async fn hold(conn: &mut Conn, lease: PartLease) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE run_parts SET lease_epoch = lease_epoch
             WHERE run_id = $1 AND part = $2 AND lease_epoch = $3",
        )
        .bind(lease.run.get())
        .bind(lease.part)
        .bind(lease.epoch)
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Waits until no other transaction stores pages of these runs, so that the ids of a run's pages
    /// rise in the order in which they can be read: who reads behind an id misses none.
    pub(crate) async fn in_order(conn: &mut Conn, runs: &[RunId]) -> Result<(), StoreError> {
        if IS_SHARED {
            for run in runs {
                // The two-number form, so that it meets no other use of such locks.
                sqlx::query("SELECT pg_advisory_xact_lock(1, CAST($1 % 2147483647 AS INTEGER))")
                    .bind(run.get())
                    .execute(&mut *conn)
                    .await?;
            }
        }
        Ok(())
    }

    /// Stores reports of a part; `is_stored` tells which of them have a page. The run's worker is
    /// told.
    pub(crate) async fn report(
        conn: &mut Conn,
        lease: PartLease,
        reports: &[NewReport],
        is_stored: impl Fn(i64) -> bool,
    ) -> Result<(), StoreError> {
        for piece in pieces(reports) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO run_reports (run_id, project_id, part, seq, stored, report) ",
            );
            insert.push_values(piece, |mut row, new| {
                row.push_bind(lease.run.get())
                    .push_bind(lease.project.get())
                    .push_bind(lease.part)
                    .push_bind(new.seq)
                    .push_bind(i64::from(is_stored(new.seq)))
                    .push_bind(new.report.as_str());
            });
            insert.push(" ON CONFLICT (run_id, seq) DO NOTHING");
            insert.build().execute(&mut *conn).await?;
        }
        if !reports.is_empty() {
            sql::notices::tell(conn, Topic::Parts).await?;
        }
        Ok(())
    }

    /// Deletes reports that the run's worker has read.
    pub(crate) async fn forget_reports(
        conn: &mut Conn,
        run: RunId,
        seqs: &[i64],
    ) -> Result<(), StoreError> {
        for piece in pieces(seqs) {
            let mut delete = sqlx::QueryBuilder::new("DELETE FROM run_reports WHERE run_id = ");
            delete.push_bind(run.get()).push(" AND seq IN (");
            let mut list = delete.separated(", ");
            for seq in piece {
                list.push_bind(*seq);
            }
            delete.push(")");
            delete.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Lets what was lent to a part wait again.
    pub(crate) async fn take_back(
        conn: &mut Conn,
        run: RunId,
        part: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE frontier SET part = NULL, lent = NULL
             WHERE run_id = $1 AND part = $2 AND state = 0",
        )
        .bind(run.get())
        .bind(part)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Ends all leases of a run's parts and removes the parts. What was lent waits again. The
    /// reports stay.
    pub(crate) async fn close_all(conn: &mut Conn, run: RunId) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM run_parts WHERE run_id = $1")
            .bind(run.get())
            .execute(&mut *conn)
            .await?;
        // Also what was written as lent after its part had been closed.
        sqlx::query(
            "UPDATE frontier SET part = NULL, lent = NULL
             WHERE run_id = $1 AND part IS NOT NULL AND state = 0",
        )
        .bind(run.get())
        .execute(&mut *conn)
        .await?;
        if done.rows_affected() > 0 {
            sql::notices::tell(conn, Topic::Parts).await?;
        }
        Ok(())
    }

    /// Deletes the reports of an ended run; pages of those that nobody has read are counted.
    pub(crate) async fn end(conn: &mut Conn, run: RunId) -> Result<(), StoreError> {
        close_all(&mut *conn, run).await?;
        sqlx::query(
            "UPDATE runs SET page_count = page_count
                 + (SELECT count(*) FROM run_reports WHERE run_id = $1 AND stored = 1)
             WHERE id = $1",
        )
        .bind(run.get())
        .execute(&mut *conn)
        .await?;
        delete_reports(conn, run).await?;
        Ok(())
    }

    /// Deletes all reports of a run: how many.
    pub(crate) async fn delete_reports(conn: &mut Conn, run: RunId) -> Result<u64, StoreError> {
        let done = sqlx::query("DELETE FROM run_reports WHERE run_id = $1")
            .bind(run.get())
            .execute(&mut *conn)
            .await?;
        Ok(done.rows_affected())
    }
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
        transact!(self.db, tx => {
            let done = sqlx::query(
                // Epochs of parts of the same number under two leases of the run never meet.
                "INSERT INTO run_parts (run_id, part, project_id, concurrency, lease_epoch)
                 SELECT id, $3, project_id, $4, lease_epoch * 1000000 FROM runs
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
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
            sql::run_parts::take_back(tx, run, part).await?;
            Ok(true)
        })
    }

    /// Closes all parts of a run: their workers can write no more. Their reports stay.
    #[crate::boxed]
    pub async fn close_parts(&self, run: RunId) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        transact!(self.db, tx => sql::run_parts::close_all(tx, run).await)
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
        let mut others = String::new();
        for run in except {
            others.push_str(if others.is_empty() {
                " AND p.run_id NOT IN ("
            } else {
                ", "
            });
            others.push_str(&run.to_string());
        }
        if !others.is_empty() {
            others.push(')');
        }
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
                     SELECT engine_state, ", columns!(), " FROM runs
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
                    engine_state: taken.engine_state,
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
                sql::run_parts::take_back(tx, lease.run, lease.part).await?;
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
