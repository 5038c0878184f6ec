//! Slots of a project for runs: a run beyond its cap may wait for one.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use crate::db::{per_database, read, signed, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// The end of the lease of a run that waits for its project's slot: no worker takes it.
pub(crate) const HELD: i64 = i64::MAX;

/// Runs of a project that wait for a slot, of those that were accepted until $3, and runs that have one:
/// $1 project, $2 [`HELD`]. `+ 0` makes SQLite use the index on active runs, of which there are few.
const PLACES: &str = "
    SELECT count(CASE WHEN status = 'queued' AND lease_until = $2 AND enqueued_at <= $3 THEN 1 END)
               AS held,
           count(CASE WHEN lease_until < $2 THEN 1 END) AS taken
    FROM runs WHERE status IN ('queued', 'running') AND project_id + 0 = $1";

/// Number of queued and running runs of a project that have a slot: $1 project, $2 [`HELD`]. `+ 0` as in
/// [`PLACES`].
const TAKEN: &str = "
    SELECT count(*) FROM runs
    WHERE status IN ('queued', 'running') AND lease_until < $2 AND project_id + 0 = $1";

#[derive(sqlx_macros::FromRow)]
struct Places {
    held: i64,
    taken: i64,
}

impl Places {
    /// How many runs that wait may begin.
    fn room(&self, cap: Option<u64>) -> u64 {
        let (held, taken) = (self.held.unsigned_abs(), self.taken.unsigned_abs());
        cap.map_or(held, |cap| cap.saturating_sub(taken)).min(held)
    }
}

per_database! {
    /// Number of queued and running runs of the project, those that wait for a slot included.
    pub(crate) async fn count_active(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<u64, StoreError> {
        // `+ 0` as in `PLACES`.
        let active: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM runs
             WHERE status IN ('queued', 'running') AND project_id + 0 = $1",
        )
        .bind(project.get())
        .fetch_one(&mut *conn)
        .await?;
        Ok(active.unsigned_abs())
    }

    /// Number of queued and running runs of the project that have a slot.
    pub(crate) async fn count_taken(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<u64, StoreError> {
        let taken: i64 = sqlx::query_scalar(TAKEN)
            .bind(project.get())
            .bind(HELD)
            .fetch_one(&mut *conn)
            .await?;
        Ok(taken.unsigned_abs())
    }

    /// The number of the project's runs that wait for a slot.
    pub(crate) async fn count_held(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<u64, StoreError> {
        let held: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM runs
             WHERE status = 'queued' AND lease_until = $2 AND project_id + 0 = $1",
        )
        .bind(project.get())
        .bind(HELD)
        .fetch_one(&mut *conn)
        .await?;
        Ok(held.unsigned_abs())
    }

    /// Makes a queued run wait for a slot.
    pub(crate) async fn hold(conn: &mut Conn, run: RunId) -> Result<(), StoreError> {
        sqlx::query("UPDATE runs SET lease_until = $2 WHERE id = $1")
            .bind(run.get())
            .bind(HELD)
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// Lets as many of the project's waiting runs begin as `cap` has room for, the first ones of those
    /// that were accepted until `until`; returns how many.
    pub(crate) async fn admit(
        conn: &mut Conn,
        project: ProjectId,
        cap: Option<u64>,
        until: i64,
    ) -> Result<u64, StoreError> {
        let places: Places = sqlx::query_as(PLACES)
            .bind(project.get())
            .bind(HELD)
            .bind(until)
            .fetch_one(&mut *conn)
            .await?;
        let done = sqlx::query(
            "UPDATE runs SET lease_until = 0 WHERE id IN (
                 SELECT id FROM runs
                 WHERE status = 'queued' AND lease_until = $2 AND project_id = $1
                   AND enqueued_at <= $3
                 ORDER BY id LIMIT $4)",
        )
        .bind(project.get())
        .bind(HELD)
        .bind(until)
        .bind(signed(places.room(cap)))
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }
}

impl Store {
    /// Projects whose runs wait for a slot, with their tiers.
    #[crate::boxed]
    pub async fn projects_with_held_runs(&self) -> Result<Vec<(ProjectId, String)>, StoreError> {
        let rows: Vec<(i64, String)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT DISTINCT p.id, p.tier FROM runs r JOIN projects p ON p.id = r.project_id
                 WHERE r.status = 'queued' AND r.lease_until = $1",
            )
            .bind(HELD)
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|(id, tier)| (ProjectId(id), tier))
            .collect())
    }

    /// Lets as many of the project's waiting runs begin as `cap` has room for, in the order
    /// in which they came, and only those that came until `until`: how many.
    #[crate::boxed]
    pub async fn admit_held_runs(
        &self,
        project: ProjectId,
        cap: Option<u64>,
        until: Option<DateTime<Utc>>,
    ) -> Result<u64, StoreError> {
        let until = until.map_or(i64::MAX, to_ms);
        // A lock is a change of the database, which wakes all that wait for one, on every node.
        let places: Places = read!(self.db, pool => {
            sqlx::query_as(PLACES)
                .bind(project.get())
                .bind(HELD)
                .bind(until)
                .fetch_one(pool)
                .await?
        });
        if places.room(cap) == 0 {
            return Ok(0);
        }
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            sql::slots::admit(tx, project, cap, until).await
        })
    }

    /// How many runs of the project are queued or running; those that wait for a place do not
    /// count.
    #[crate::boxed]
    pub async fn active_runs(&self, project: ProjectId) -> Result<u32, StoreError> {
        let count: i64 = read!(self.db, pool => {
            sqlx::query_scalar(TAKEN)
                .bind(project.get())
                .bind(HELD)
                .fetch_one(pool)
                .await?
        });
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}
