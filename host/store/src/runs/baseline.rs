//! The run that a monitor's next one is compared with, and which ended runs nothing needs any more.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use crate::db::{per_database, read};
use crate::error::StoreError;
use crate::pages::unreliable;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Ended runs read at once.
const CHUNK: u32 = 100;

/// The monitor's last run that is done, has pages, and whose seed did not fail temporarily: $1 monitor,
/// $2 project. A hook may have kept the seed from being stored, so its place in the frontier tells. Without a
/// seed, it is the last run with any page that did not fail temporarily.
macro_rules! baseline {
    () => {
        concat!(
            "SELECT r.id FROM runs r
             WHERE r.monitor_id = $1 AND r.project_id = $2 AND r.status = 'done'
               AND r.page_count > 0
               AND CASE WHEN r.seed_is_page = 1 THEN EXISTS (
                       SELECT 1 FROM frontier f
                       WHERE f.project_id = $2 AND f.run_id = r.id AND f.seq = 0 AND f.state = 1)
                   ELSE EXISTS (
                       SELECT 1 FROM pages p
                       WHERE p.project_id = $2 AND p.run_id = r.id AND NOT ",
            unreliable!("p.status"),
            ") END
             ORDER BY r.id DESC LIMIT 1"
        )
    };
}

/// Ended runs that satisfy a condition on $1, oldest first, after place $2 and $3: at most $4. Each with its
/// monitor, if that exists, and whether a run that has not ended is compared with it.
macro_rules! ended {
    ($condition:literal) => {
        concat!(
            "SELECT r.project_id, r.id, r.finished_at, m.id AS monitor_id,
                 CAST(CASE WHEN EXISTS (
                     SELECT 1 FROM runs n
                     WHERE n.previous_run_id = r.id AND n.status IN ('queued', 'running'))
                     THEN 1 ELSE 0 END AS BIGINT) AS compared
             FROM runs r LEFT JOIN monitors m ON m.id = r.monitor_id
             WHERE r.status IN ('done', 'failed') AND ",
            $condition,
            " AND (r.finished_at > $2 OR (r.finished_at = $2 AND r.id > $3))
             ORDER BY r.finished_at, r.id LIMIT $4"
        )
    };
}

/// A run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// The project that owns it.
    pub project: ProjectId,
    /// The run.
    pub run: RunId,
    /// When it ended.
    pub finished_at: DateTime<Utc>,
    /// Whether its monitor's next run will be compared with it, or a run that has not ended.
    pub is_needed: bool,
}

#[derive(sqlx_macros::FromRow)]
struct EndedRow {
    project_id: i64,
    id: i64,
    finished_at: i64,
    monitor_id: Option<i64>,
    compared: i64,
}

/// The place after a run in the order of their ends.
fn place(after: Option<&EndedRun>) -> (i64, i64) {
    after.map_or((i64::MIN, 0), |last| {
        (to_ms(last.finished_at), last.run.get())
    })
}

per_database! {
    /// The run that the monitor's next one is compared with.
    pub(crate) async fn of(
        conn: &mut Conn,
        project: ProjectId,
        monitor: MonitorId,
    ) -> Result<Option<RunId>, StoreError> {
        let run: Option<i64> = sqlx::query_scalar(baseline!())
            .bind(monitor.get())
            .bind(project.get())
            .fetch_optional(&mut *conn)
            .await?;
        Ok(run.map(RunId))
    }
}

impl Store {
    /// Runs of every project that ended before `before`, oldest first: those after `after`, at most `limit`.
    #[crate::boxed]
    pub async fn runs_ended_before(
        &self,
        before: DateTime<Utc>,
        after: Option<&EndedRun>,
        limit: u32,
    ) -> Result<Vec<EndedRun>, StoreError> {
        let (ended, run) = place(after);
        let rows: Vec<EndedRow> = read!(self.db, pool => {
            sqlx::query_as(ended!("r.finished_at < $1"))
                .bind(to_ms(before))
                .bind(ended)
                .bind(run)
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        self.judged(rows).await
    }

    /// The project's run that ended earliest; of those that nothing needs, or with `needed` of all.
    #[crate::boxed]
    pub async fn oldest_ended_run(
        &self,
        project: ProjectId,
        needed: bool,
    ) -> Result<Option<RunId>, StoreError> {
        let mut last: Option<EndedRun> = None;
        loop {
            let (ended, run) = place(last.as_ref());
            let rows: Vec<EndedRow> = read!(self.db, pool => {
                sqlx::query_as(ended!("r.project_id = $1"))
                    .bind(project.get())
                    .bind(ended)
                    .bind(run)
                    .bind(i64::from(CHUNK))
                    .fetch_all(pool)
                    .await?
            });
            let runs = self.judged(rows).await?;
            if let Some(found) = runs.iter().find(|run| needed || !run.is_needed) {
                return Ok(Some(found.run));
            }
            last = runs.last().copied();
            if last.is_none() {
                return Ok(None);
            }
        }
    }

    /// The runs, with whether they are needed.
    async fn judged(&self, rows: Vec<EndedRow>) -> Result<Vec<EndedRun>, StoreError> {
        let mut baselines: HashMap<i64, Option<i64>> = HashMap::new();
        let mut runs = Vec::with_capacity(rows.len());
        for row in rows {
            let mut is_needed = row.compared == 1;
            if let Some(monitor) = row.monitor_id {
                let known = baselines.get(&monitor).copied();
                let baseline = match known {
                    Some(baseline) => baseline,
                    None => self.baseline(row.project_id, monitor).await?,
                };
                baselines.insert(monitor, baseline);
                is_needed |= baseline == Some(row.id);
            }
            runs.push(EndedRun {
                project: ProjectId(row.project_id),
                run: RunId(row.id),
                finished_at: from_ms(row.finished_at),
                is_needed,
            });
        }
        Ok(runs)
    }

    async fn baseline(&self, project: i64, monitor: i64) -> Result<Option<i64>, StoreError> {
        Ok(read!(self.db, pool => {
            sqlx::query_scalar(baseline!())
                .bind(monitor)
                .bind(project)
                .fetch_optional(pool)
                .await?
        }))
    }
}
