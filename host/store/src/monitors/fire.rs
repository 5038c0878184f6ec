//! Due monitors and their fires: each fire happens once, also with several nodes.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::runs::slots::HELD;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// A project with due monitors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueProject {
    /// The project.
    pub project: ProjectId,
    /// Its tier, which limits its runs.
    pub tier: String,
    /// Number of its queued and running runs, without those that wait for a slot.
    pub active: u64,
}

/// A due monitor whose last run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMonitor {
    /// Its id.
    pub id: MonitorId,
    /// Its schedule.
    pub schedule: String,
    /// Time of the fire that is due.
    pub fire_at: DateTime<Utc>,
}

/// Result of firing a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Its run is queued.
    Started(RunId),
    /// The project's cap of queued and running runs is reached; the fire waits.
    CapReached,
    /// Another node has fired it, or it was changed, paused or deleted, or its last run has not
    /// ended.
    Gone,
}

#[derive(sqlx_macros::FromRow)]
struct ProjectRow {
    project_id: i64,
    tier: String,
    active: i64,
}

#[derive(sqlx_macros::FromRow)]
struct MonitorRow {
    id: i64,
    schedule: String,
    next_fires_at: i64,
}

#[derive(sqlx_macros::FromRow)]
struct WaitingRow {
    project_id: i64,
    #[sqlx(flatten)]
    monitor: MonitorRow,
}

impl From<MonitorRow> for DueMonitor {
    fn from(row: MonitorRow) -> Self {
        Self {
            id: MonitorId(row.id),
            schedule: row.schedule,
            fire_at: from_ms(row.next_fires_at),
        }
    }
}

impl Store {
    /// Projects with due monitors, longest waiting first. Suspended projects are left out: their
    /// fires wait.
    #[crate::boxed]
    pub async fn due_projects(&self, now: DateTime<Utc>) -> Result<Vec<DueProject>, StoreError> {
        // `+ 0` makes SQLite use the index on due monitors, of which there are few.
        let rows: Vec<ProjectRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT due.project_id, p.tier, COALESCE(runs.active, 0) AS active
                 FROM (SELECT project_id + 0 AS project_id, min(next_fires_at) AS since
                       FROM monitors WHERE next_fires_at <= $1 GROUP BY 1) due
                 JOIN projects p ON p.id = due.project_id
                 LEFT JOIN (SELECT project_id, count(*) AS active FROM runs
                            WHERE status IN ('queued', 'running') AND lease_until < $2
                            GROUP BY project_id) runs
                     ON runs.project_id = due.project_id
                 WHERE p.suspended_at IS NULL
                 ORDER BY due.since, due.project_id",
            )
            .bind(to_ms(now))
            .bind(HELD)
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| DueProject {
                project: ProjectId(row.project_id),
                tier: row.tier,
                active: u64::try_from(row.active).unwrap_or_default(),
            })
            .collect())
    }

    /// When the next monitor is due after `now`; `None` where none will be. Monitors that are
    /// due already and wait for something are left out.
    #[crate::boxed]
    pub async fn next_fire(&self, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
        let next: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT CAST(min(next_fires_at) AS BIGINT) FROM monitors WHERE next_fires_at > $1",
            )
            .bind(to_ms(now))
            .fetch_one(pool)
            .await?
        });
        Ok(next.map(from_ms))
    }

    /// The project's due monitors whose last run has ended, longest waiting first.
    #[crate::boxed]
    pub async fn due_monitors(
        &self,
        project: ProjectId,
        now: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<DueMonitor>, StoreError> {
        let rows: Vec<MonitorRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT m.id, m.schedule, m.next_fires_at FROM monitors m
                 WHERE m.project_id = $1 AND m.next_fires_at <= $2
                   AND NOT EXISTS (SELECT 1 FROM runs r
                       WHERE r.id = m.last_run_id AND r.status IN ('queued', 'running'))
                 ORDER BY m.next_fires_at, m.id LIMIT $3",
            )
            .bind(project.get())
            .bind(to_ms(now))
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(DueMonitor::from).collect())
    }

    /// Monitors of any project whose next fire lies ahead, by id, with ids after this one.
    #[crate::boxed]
    pub async fn waiting_monitors(
        &self,
        now: DateTime<Utc>,
        after: Option<MonitorId>,
        limit: u32,
    ) -> Result<Vec<(ProjectId, DueMonitor)>, StoreError> {
        let rows: Vec<WaitingRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, id, schedule, next_fires_at FROM monitors
                 WHERE next_fires_at > $1 AND id > $2 ORDER BY id LIMIT $3",
            )
            .bind(to_ms(now))
            .bind(after.map_or(0, MonitorId::get))
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| (ProjectId(row.project_id), row.monitor.into()))
            .collect())
    }

    /// Queues the run of a fire and sets the monitor's next fire, in one transaction. The run's
    /// baseline is the monitor's last suitable run: done, with pages, and whose seed was not
    /// temporarily refused. Runs that wait for a slot take none.
    #[crate::boxed]
    pub async fn fire_monitor(
        &self,
        project: ProjectId,
        due: &DueMonitor,
        next: Option<DateTime<Utc>>,
        cap: Option<u64>,
        now: DateTime<Utc>,
    ) -> Result<Fired, StoreError> {
        transact!(self.db, tx => {
            // Without the lock, two nodes could both use the last free slot.
            sql::projects::lock(tx, project).await?;
            if let Some(cap) = cap
                && sql::slots::count_taken(tx, project).await? >= cap
            {
                return Ok(Fired::CapReached);
            }
            let taken: Option<String> = sqlx::query_scalar(
                "UPDATE monitors SET next_fires_at = $4, last_fired_at = $5
                 WHERE id = $1 AND project_id = $2 AND next_fires_at = $3
                   AND NOT EXISTS (SELECT 1 FROM runs r
                       WHERE r.id = monitors.last_run_id AND r.status IN ('queued', 'running'))
                 RETURNING url_key",
            )
            .bind(due.id.get())
            .bind(project.get())
            .bind(to_ms(due.fire_at))
            .bind(next.map(to_ms))
            .bind(to_ms(now))
            .fetch_optional(&mut *tx)
            .await?;
            let Some(url_key) = taken else {
                return Ok(Fired::Gone);
            };
            let run = sql::runs::insert_fired(tx, project, due.id, &url_key, now).await?;
            sqlx::query("UPDATE monitors SET last_run_id = $2 WHERE id = $1")
                .bind(due.id.get())
                .bind(run.get())
                .execute(&mut *tx)
                .await?;
            Ok(Fired::Started(run))
        })
    }

    /// Sets a monitor's next fire without a run, unless it has fired or was changed meanwhile.
    #[crate::boxed]
    pub async fn put_off_monitor(
        &self,
        project: ProjectId,
        due: &DueMonitor,
        next: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE monitors SET next_fires_at = $4
                 WHERE id = $1 AND project_id = $2 AND next_fires_at = $3",
            )
            .bind(due.id.get())
            .bind(project.get())
            .bind(to_ms(due.fire_at))
            .bind(next.map(to_ms))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }
}
