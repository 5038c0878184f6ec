//! The items that jobs emit: table `job_items`.

use orbweaver_core::ids::{JobId, ProjectId};

use super::JobLease;
use crate::db::{per_database, pieces, read, signed, transact};
use crate::error::StoreError;
use crate::store::Store;

/// Items deleted by a transaction, so that a deletion never blocks other writers for long.
const CHUNK: i64 = 500;

/// A stored item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Its place in the order of emission, from 0.
    pub position: i64,
    /// JSON text.
    pub data: String,
}

per_database! {
    /// Stores items under a lease that the transaction has checked.
    pub(crate) async fn insert(
        conn: &mut Conn,
        lease: JobLease,
        first: u64,
        items: &[String],
    ) -> Result<(), StoreError> {
        let rows: Vec<(u64, &String)> = (first..).zip(items).collect();
        for piece in pieces(&rows) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO job_items (job_id, epoch, position, project_id, data) ",
            );
            insert.push_values(piece, |mut row, (position, item)| {
                row.push_bind(lease.job.get())
                    .push_bind(lease.epoch)
                    .push_bind(signed(*position))
                    .push_bind(lease.project.get())
                    .push_bind(item.as_str());
            });
            // A batch whose commit was not confirmed is written again.
            insert.push(" ON CONFLICT (job_id, epoch, position) DO NOTHING");
            insert.build().execute(&mut *conn).await?;
        }
        Ok(())
    }
}

impl Store {
    /// Items of a job of the project, of its last attempt, in the order of emission: those after
    /// the place `after`, of these after leaving out `offset`, at most `limit`.
    #[crate::boxed]
    pub async fn job_items(
        &self,
        project: ProjectId,
        job: JobId,
        after: i64,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<JobRecord>, StoreError> {
        let rows: Vec<(i64, String)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT i.position, i.data FROM job_items i
                 JOIN jobs j ON j.id = i.job_id AND j.lease_epoch = i.epoch
                 WHERE j.id = $1 AND j.project_id = $2 AND i.position > $3
                 ORDER BY i.position LIMIT $4 OFFSET $5",
            )
            .bind(job.get())
            .bind(project.get())
            .bind(after)
            .bind(i64::from(limit))
            .bind(signed(offset))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|(position, data)| JobRecord { position, data })
            .collect())
    }

    /// Deletes a piece of the items of deleted jobs and of earlier attempts; `false` if nothing is
    /// left to delete.
    #[crate::boxed]
    pub async fn remove_job_items(&self) -> Result<bool, StoreError> {
        // Usually there is none, so this check must not block writers.
        let waiting: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT job_id FROM job_removals LIMIT 1")
                .fetch_optional(pool)
                .await?
        });
        if waiting.is_none() {
            return Ok(false);
        }
        let skip = self.skip_locked();
        let pick =
            format!("SELECT job_id, before_epoch FROM job_removals ORDER BY job_id LIMIT 1{skip}");
        transact!(self.db, tx => {
            let picked: Option<(i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(pick.as_str()))
                .fetch_optional(&mut *tx)
                .await?;
            let Some((job, before)) = picked else {
                return Ok(false);
            };
            let done = sqlx::query(
                "DELETE FROM job_items WHERE job_id = $1 AND (epoch, position) IN (
                     SELECT epoch, position FROM job_items
                     WHERE job_id = $1 AND epoch < $2 LIMIT $3)",
            )
            .bind(job)
            .bind(before)
            .bind(CHUNK)
            .execute(&mut *tx)
            .await?;
            if done.rows_affected() == 0 {
                // A later lease may have raised it meanwhile.
                sqlx::query("DELETE FROM job_removals WHERE job_id = $1 AND before_epoch = $2")
                    .bind(job)
                    .bind(before)
                    .execute(&mut *tx)
                    .await?;
            }
            Ok(true)
        })
    }
}
