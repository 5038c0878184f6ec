//! Deleting runs: gone for every request at once, their rows removed a piece at a time.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use crate::db::{Db, Store, read, transact};
use crate::error::StoreError;
use crate::time::to_ms;

/// Pages per transaction, so that a deletion never holds the writer for long.
const PAGES: i64 = 250;
/// URLs of a frontier per transaction.
const URLS: i64 = 5_000;
/// Database pages given back per step: 2 MiB.
const VACUUM: i64 = 512;

/// A step of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Rows removed.
    pub rows: u64,
    /// Bytes of bodies removed.
    pub bytes: u64,
    /// Nothing is left to remove.
    pub finished: bool,
}

impl Store {
    /// Deletes a run of the project: from here on no request finds it or its pages, and a
    /// worker that is at it finds its lease gone. `false` where there is none.
    /// [`remove_deleted`](Self::remove_deleted) removes what it stored.
    pub async fn delete_run(
        &self,
        project: ProjectId,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query("DELETE FROM runs WHERE id = $1 AND project_id = $2")
                .bind(run.get())
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            if done.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query(
                "INSERT INTO run_deletions (run_id, project_id, requested_at) VALUES ($1, $2, $3)",
            )
            .bind(run.get())
            .bind(project.get())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(true)
        })
    }

    /// Removes a piece of what deleted runs stored. To be called until it is finished.
    pub async fn remove_deleted(&self) -> Result<Removed, StoreError> {
        let nothing = Removed {
            finished: true,
            ..Removed::default()
        };
        // Usually there is none, and this check must not block writers.
        let waiting: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT run_id FROM run_deletions LIMIT 1")
                .fetch_optional(pool)
                .await?
        });
        if waiting.is_none() {
            return Ok(nothing);
        }
        let skip = self.skip_locked();
        let pick = format!("SELECT run_id FROM run_deletions ORDER BY run_id LIMIT 1{skip}");
        transact!(self.db, tx => {
            let run: Option<i64> = sqlx::query_scalar(sqlx::AssertSqlSafe(pick.as_str()))
                .fetch_optional(&mut *tx)
                .await?;
            let Some(run) = run else {
                return Ok(nothing);
            };
            let run = RunId(run);
            let pages = sql::pages::delete_of_run(tx, run, PAGES).await?;
            if !pages.is_empty() {
                let blobs = pages.iter().filter_map(|(_, blob)| *blob);
                let bytes = sql::bodies::release(tx, blobs).await?;
                return Ok(Removed { rows: pages.len() as u64, bytes, finished: false });
            }
            let urls = sql::frontier::delete_of_run(tx, run, URLS).await?
                + sql::run_errors::delete_of_run(tx, run, URLS).await?;
            if urls == 0 {
                sqlx::query("DELETE FROM run_deletions WHERE run_id = $1")
                    .bind(run.get())
                    .execute(&mut *tx)
                    .await?;
            }
            Ok(Removed { rows: urls, bytes: 0, finished: false })
        })
    }

    /// Removes the project's oldest scanned pages, a piece at a time.
    pub async fn remove_oldest_scans(&self, project: ProjectId) -> Result<Removed, StoreError> {
        transact!(self.db, tx => {
            let blobs = sql::pages::delete_oldest_scans(tx, project, PAGES).await?;
            Ok(Removed {
                rows: blobs.len() as u64,
                finished: blobs.is_empty(),
                bytes: sql::bodies::release(tx, blobs.into_iter().flatten()).await?,
            })
        })
    }

    /// Gives a piece of the database's free space back to the file system; `false` when there
    /// is none left. PostgreSQL's autovacuum does so by itself.
    pub async fn release_space(&self) -> Result<bool, StoreError> {
        let Db::Lite(lite) = &self.db else {
            return Ok(false);
        };
        let free: i64 = sqlx::query_scalar("PRAGMA freelist_count")
            .fetch_one(&lite.write)
            .await?;
        if free == 0 {
            // The file shrinks when the log is written back to it.
            sqlx::query("PRAGMA wal_checkpoint(PASSIVE)")
                .execute(&lite.write)
                .await?;
            return Ok(false);
        }
        let vacuum = format!("PRAGMA incremental_vacuum({VACUUM})");
        sqlx::query(sqlx::AssertSqlSafe(vacuum.as_str()))
            .execute(&lite.write)
            .await?;
        Ok(true)
    }

    /// Runs of every project that ended before `before`, oldest first; at most `limit`.
    pub async fn runs_ended_before(
        &self,
        before: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<(ProjectId, RunId)>, StoreError> {
        let rows: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, id FROM runs
                 WHERE status IN ('done', 'failed') AND finished_at < $1
                 ORDER BY finished_at, id LIMIT $2",
            )
            .bind(to_ms(before))
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|(project, run)| (ProjectId(project), RunId(run)))
            .collect())
    }

    /// The project's run that ended first.
    pub async fn oldest_ended_run(&self, project: ProjectId) -> Result<Option<RunId>, StoreError> {
        let id: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT id FROM runs WHERE project_id = $1 AND status IN ('done', 'failed')
                 ORDER BY finished_at, id LIMIT 1",
            )
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(id.map(RunId))
    }
}
