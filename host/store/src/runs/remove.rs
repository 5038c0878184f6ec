//! Deletion of runs: requests no longer find them at once, their rows are deleted in pieces.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{BlobId, ProjectId, RunId};
use sqlx::SqliteConnection;

use crate::db::{Db, read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// Pages per transaction, so that a deletion never blocks other writers for long.
const PAGES: i64 = 250;
/// Frontier URLs per transaction.
const URLS: i64 = 5_000;
/// Database pages released per step: 2 MiB.
const VACUUM: i64 = 512;

/// Result of a deletion step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeletionStep {
    /// Number of rows deleted.
    pub rows: u64,
    /// Stored bytes of bodies deleted.
    pub bytes: u64,
    /// Whether nothing is left to delete.
    pub finished: bool,
}

impl Store {
    /// Deletes a run of the project: from now on no request finds it or its pages, and a worker's
    /// lease on it is invalid. `false` if there is none. [`remove_deleted`](Self::remove_deleted)
    /// deletes its rows.
    #[crate::boxed]
    pub async fn delete_run(
        &self,
        project: ProjectId,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let lock = if self.is_shared() { " FOR UPDATE" } else { "" };
        let pick = format!("SELECT id FROM runs WHERE id = $1 AND project_id = $2{lock}");
        let deleted: Result<bool, StoreError> = transact!(self.db, tx => {
            let found: Option<i64> = sqlx::query_scalar(sqlx::AssertSqlSafe(pick.as_str()))
                .bind(run.get())
                .bind(project.get())
                .fetch_optional(&mut *tx)
                .await?;
            if found.is_none() {
                return Ok(false);
            }
            // Locked in the order of the commit of a part: the part, then what goes with the run
            // (its feed of pages). So two nodes never deadlock.
            sql::run_parts::close_all(tx, project, run).await?;
            sqlx::query("DELETE FROM runs WHERE id = $1")
                .bind(run.get())
                .execute(&mut *tx)
                .await?;
            sql::monitors::forget_run(tx, project, run).await?;
            sqlx::query(
                "INSERT INTO run_deletions (run_id, project_id, requested_at) VALUES ($1, $2, $3)",
            )
            .bind(run.get())
            .bind(project.get())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(true)
        });
        let deleted = deleted?;
        if deleted {
            self.count_removal();
        }
        Ok(deleted)
    }

    /// Deletes a piece of the rows of deleted runs. To be called until it is finished.
    #[crate::boxed]
    pub async fn remove_deleted(&self) -> Result<DeletionStep, StoreError> {
        let nothing = DeletionStep {
            finished: true,
            ..DeletionStep::default()
        };
        // Usually there is none, so this check must not block writers.
        let waiting: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT run_id FROM run_deletions LIMIT 1")
                .fetch_optional(pool)
                .await?
        });
        if waiting.is_none() {
            return Ok(nothing);
        }
        let skip = self.skip_locked();
        let pick =
            format!("SELECT project_id, run_id FROM run_deletions ORDER BY run_id LIMIT 1{skip}");
        transact!(self.db, tx => {
            let picked: Option<(i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(pick.as_str()))
                .fetch_optional(&mut *tx)
                .await?;
            let Some((project, run)) = picked else {
                return Ok(nothing);
            };
            let (project, run) = (ProjectId(project), RunId(run));
            let pages = sql::pages::delete_of_run(tx, project, run, PAGES).await?;
            if !pages.is_empty() {
                let blobs = pages.iter().filter_map(|(_, blob)| Some((BlobId((*blob)?), project)));
                let bytes = sql::bodies::release(tx, blobs).await?;
                return Ok(DeletionStep { rows: pages.len() as u64, bytes, finished: false });
            }
            let urls = sql::frontier::delete_of_run(tx, project, run, URLS).await?
                + sql::run_errors::delete_of_run(tx, project, run, URLS).await?
                + sql::run_parts::delete_reports(tx, project, run).await?
                + sql::run_notes::delete_of_run(tx, run, URLS).await?;
            if urls == 0 {
                sqlx::query("DELETE FROM run_deletions WHERE run_id = $1")
                    .bind(run.get())
                    .execute(&mut *tx)
                    .await?;
            }
            Ok(DeletionStep { rows: urls, bytes: 0, finished: false })
        })
    }

    /// Whether rows of deleted runs of the project are still there, whichever node deletes them.
    #[crate::boxed]
    pub async fn is_removing(&self, project: ProjectId) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT run_id FROM run_deletions WHERE project_id = $1 LIMIT 1")
                .bind(project.get())
                .fetch_optional(pool)
                .await?
        });
        Ok(found.is_some())
    }

    /// Deletes the project's oldest scan pages, a piece at a time.
    #[crate::boxed]
    pub async fn remove_oldest_scans(
        &self,
        project: ProjectId,
    ) -> Result<DeletionStep, StoreError> {
        let step: Result<DeletionStep, StoreError> = transact!(self.db, tx => {
            let pages = sql::pages::delete_oldest_scans(tx, project, PAGES).await?;
            let blobs = pages.iter().filter_map(|blob| Some((BlobId((*blob)?), project)));
            Ok(DeletionStep {
                rows: pages.len() as u64,
                finished: pages.is_empty(),
                bytes: sql::bodies::release(tx, blobs).await?,
            })
        });
        let step = step?;
        if step.rows > 0 {
            self.count_removal();
        }
        Ok(step)
    }

    /// Returns a piece of the database's free space to the file system; `false` if there is none
    /// left, or if the file keeps it: one that another program made may not be able to shrink
    /// (`auto_vacuum`). PostgreSQL's autovacuum does this by itself.
    #[crate::boxed]
    pub async fn release_space(&self) -> Result<bool, StoreError> {
        let Db::Lite(lite) = &self.db else {
            return Ok(false);
        };
        let (turn, mut connection) = lite.write.acquire().await?;
        let free = free_pages(&mut connection).await?;
        let is_less = if free == 0 {
            // The file shrinks when the write-ahead log is written back to it.
            sqlx::query("PRAGMA wal_checkpoint(PASSIVE)")
                .execute(&mut *connection)
                .await?;
            false
        } else {
            let vacuum = format!("PRAGMA incremental_vacuum({VACUUM})");
            sqlx::query(sqlx::AssertSqlSafe(vacuum.as_str()))
                .execute(&mut *connection)
                .await?;
            free_pages(&mut connection).await? < free
        };
        turn.keep(connection);
        Ok(is_less)
    }
}

/// Pages of a SQLite file that hold nothing.
async fn free_pages(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("PRAGMA freelist_count")
        .fetch_one(connection)
        .await?)
}
