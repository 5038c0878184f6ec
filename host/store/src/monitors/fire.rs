//! Which monitors are due, and firing one: once, whatever other nodes do.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use crate::db::{Store, read, transact};
use crate::error::StoreError;
use crate::time::{from_ms, to_ms};

/// A project with monitors that are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueProject {
    /// Which.
    pub project: ProjectId,
    /// Its tier, which caps its runs.
    pub tier: String,
    /// Its runs that are queued or running.
    pub active: u64,
}

/// A monitor that is due and whose last run is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMonitor {
    /// Which.
    pub id: MonitorId,
    /// Its schedule.
    pub schedule: String,
    /// The fire that is due.
    pub fire_at: DateTime<Utc>,
}

/// What became of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Its run is queued.
    Started(RunId),
    /// The project has as many queued and running runs as it may; the fire waits.
    CapReached,
    /// Another node has fired it, or it was changed, paused or deleted, or its last run is
    /// not over.
    Gone,
}

#[derive(sqlx::FromRow)]
struct ProjectRow {
    project_id: i64,
    tier: String,
    active: i64,
}

#[derive(sqlx::FromRow)]
struct MonitorRow {
    id: i64,
    schedule: String,
    next_fires_at: i64,
}

/// A page whose status says that the site was in trouble, not what its content is.
macro_rules! unreliable {
    ($status:literal) => {
        concat!("(", $status, " IN (408, 425, 429) OR ", $status, " >= 500)")
    };
}
pub(crate) use unreliable;

impl Store {
    /// Projects with monitors that are due, the one that waits longest first. Suspended
    /// projects are left out: their fires wait.
    pub async fn due_projects(&self, now: DateTime<Utc>) -> Result<Vec<DueProject>, StoreError> {
        // `+ 0`: few monitors are due, and an index finds just them.
        let rows: Vec<ProjectRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT due.project_id, p.tier, COALESCE(runs.active, 0) AS active
                 FROM (SELECT project_id + 0 AS project_id, min(next_fires_at) AS since
                       FROM monitors WHERE next_fires_at <= $1 GROUP BY 1) due
                 JOIN projects p ON p.id = due.project_id
                 LEFT JOIN (SELECT project_id, count(*) AS active FROM runs
                            WHERE status IN ('queued', 'running') GROUP BY project_id) runs
                     ON runs.project_id = due.project_id
                 WHERE p.suspended_at IS NULL
                 ORDER BY due.since, due.project_id",
            )
            .bind(to_ms(now))
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

    /// The project's monitors that are due and whose last run is over, the one that waits
    /// longest first.
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
        Ok(rows
            .into_iter()
            .map(|row| DueMonitor {
                id: MonitorId(row.id),
                schedule: row.schedule,
                fire_at: from_ms(row.next_fires_at),
            })
            .collect())
    }

    /// Queues the run of a fire and sets the monitor to its next one, in one transaction. The
    /// run's baseline is the monitor's last run that is one: done, with pages, and whose seed
    /// was not refused for the moment.
    pub async fn fire_monitor(
        &self,
        project: ProjectId,
        due: &DueMonitor,
        next: Option<DateTime<Utc>>,
        cap: Option<u64>,
        now: DateTime<Utc>,
    ) -> Result<Fired, StoreError> {
        transact!(self.db, tx => {
            // Holds the project's row, as every creation of a run does.
            sqlx::query("UPDATE projects SET tier = tier WHERE id = $1")
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            if let Some(cap) = cap {
                // `+ 0`: there are few active runs, and an index finds just them.
                let active: i64 = sqlx::query_scalar(
                    "SELECT count(*) FROM runs
                     WHERE status IN ('queued', 'running') AND project_id + 0 = $1",
                )
                .bind(project.get())
                .fetch_one(&mut *tx)
                .await?;
                if u64::try_from(active).unwrap_or_default() >= cap {
                    return Ok(Fired::CapReached);
                }
            }
            let taken = sqlx::query(
                "UPDATE monitors SET next_fires_at = $4, last_fired_at = $5
                 WHERE id = $1 AND project_id = $2 AND next_fires_at = $3
                   AND NOT EXISTS (SELECT 1 FROM runs r
                       WHERE r.id = monitors.last_run_id AND r.status IN ('queued', 'running'))",
            )
            .bind(due.id.get())
            .bind(project.get())
            .bind(to_ms(due.fire_at))
            .bind(next.map(to_ms))
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            if taken.rows_affected() == 0 {
                return Ok(Fired::Gone);
            }
            let run: i64 = sqlx::query_scalar(concat!(
                "INSERT INTO runs (project_id, monitor_id, previous_run_id, url, url_key, status,
                     spec, proxy_url, enqueued_at, webhook_status)
                 SELECT m.project_id, m.id,
                     (SELECT r.id FROM runs r
                      WHERE r.monitor_id = m.id AND r.status = 'done' AND r.page_count > 0
                        AND EXISTS (SELECT 1 FROM pages p
                            WHERE p.run_id = r.id AND p.depth = 0 AND NOT ",
                unreliable!("p.status"),
                ")
                      ORDER BY r.id DESC LIMIT 1),
                     m.url, m.url_key, 'queued', m.spec, m.proxy_url, $2,
                     CASE WHEN m.has_webhook = 1 THEN 'pending' END
                 FROM monitors m WHERE m.id = $1
                 RETURNING id"
            ))
            .bind(due.id.get())
            .bind(to_ms(now))
            .fetch_one(&mut *tx)
            .await?;
            sqlx::query("UPDATE monitors SET last_run_id = $2 WHERE id = $1")
                .bind(due.id.get())
                .bind(run)
                .execute(&mut *tx)
                .await?;
            Ok(Fired::Started(RunId(run)))
        })
    }
}
