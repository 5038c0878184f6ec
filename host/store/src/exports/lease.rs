//! Leases of exports, which work as those of jobs: each has an epoch, so that a worker whose lease
//! was given to another one cannot write any more.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ExportId, ProjectId};

use super::BucketExport;
use super::rows::{ExportRow, columns};
use crate::db::{signed, storable, transact};
use crate::error::StoreError;
use crate::leases::Leased;
use crate::store::Store;
use crate::time::to_ms;

/// Owner of a lease that only makes the next attempt wait.
const NOBODY: &str = "";

/// The right to work on an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportLease {
    /// The export.
    pub export: ExportId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Number of leases of the export so far; every write names it.
    pub epoch: i64,
}

/// A leased export.
#[derive(Clone, Debug)]
pub struct LeasedExport {
    /// Its lease.
    pub lease: ExportLease,
    /// The export in its current state: running, without pages and bytes.
    pub export: BucketExport,
}

/// How an attempt at an export ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The bucket has the file.
    Done,
    /// With an error: a code of the API's errors, and a message.
    Failed {
        /// The code.
        code: &'static str,
        /// The message.
        message: String,
    },
    /// At its owner's request.
    Cancelled,
}

#[derive(sqlx_macros::FromRow)]
struct LeasedRow {
    lease_epoch: i64,
    #[sqlx(flatten)]
    export: ExportRow,
}

impl Store {
    /// When the first lease after `now` runs out that is not `owner`'s; `None` without one.
    #[crate::boxed]
    pub async fn next_export_lease_end(
        &self,
        owner: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        Leased::Exports.next_end(&self.db, owner, now).await
    }

    /// Leases the export that has waited longest, queued or running with an expired lease. Those of
    /// `full` projects are left out. `until` is the expiry of the new lease.
    #[crate::boxed]
    pub async fn lease_export(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        full: &[ProjectId],
    ) -> Result<Option<LeasedExport>, StoreError> {
        if !Leased::Exports.is_waiting(&self.db, now).await? {
            return Ok(None);
        }
        let skip = self.skip_locked();
        let others = match full {
            [] => String::new(),
            full => {
                let ids: Vec<String> = full.iter().map(ToString::to_string).collect();
                format!(" AND project_id NOT IN ({})", ids.join(", "))
            }
        };
        let sql = format!(
            "UPDATE exports SET status = 'running', started_at = COALESCE(started_at, $2),
                 lease_owner = $1, lease_until = $3, lease_epoch = lease_epoch + 1,
                 attempts = attempts + 1, pages = 0, bytes = 0
             WHERE id = (
                 SELECT id FROM exports
                 WHERE status IN ('queued', 'running') AND lease_until <= $2{others}
                 ORDER BY id LIMIT 1{skip})
             RETURNING lease_epoch, {}",
            columns!()
        );
        let taken: Option<LeasedRow> = transact!(self.db, tx => {
            Ok(sqlx::query_as(sqlx::AssertSqlSafe(sql.as_str()))
                .bind(owner)
                .bind(to_ms(now))
                .bind(to_ms(until))
                .fetch_optional(&mut *tx)
                .await?)
        })?;
        taken
            .map(|taken| {
                let export = BucketExport::try_from(taken.export)?;
                Ok(LeasedExport {
                    lease: ExportLease {
                        export: export.id,
                        project: export.project,
                        epoch: taken.lease_epoch,
                    },
                    export,
                })
            })
            .transpose()
    }

    /// Extends a lease and writes how far the export is. Whether its end is asked for; `None` if
    /// the lease is no longer held, because the export was deleted or taken over.
    #[crate::boxed]
    pub async fn extend_export_lease(
        &self,
        lease: ExportLease,
        until: DateTime<Utc>,
        pages: u64,
        bytes: u64,
    ) -> Result<Option<bool>, StoreError> {
        transact!(self.db, tx => {
            let cancel: Option<i64> = sqlx::query_scalar(
                "UPDATE exports SET lease_until = $3, pages = $4, bytes = $5
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'
                 RETURNING cancel_requested",
            )
            .bind(lease.export.get())
            .bind(lease.epoch)
            .bind(to_ms(until))
            .bind(signed(pages))
            .bind(signed(bytes))
            .fetch_optional(&mut *tx)
            .await?;
            Ok(cancel.map(|cancel| cancel != 0))
        })
    }

    /// Notes the upload that the attempt has begun, or that there is none; `false` if the lease is
    /// no longer held.
    #[crate::boxed]
    pub async fn note_export_upload(
        &self,
        lease: ExportLease,
        upload: Option<&str>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE exports SET upload = $3
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.export.get())
            .bind(lease.epoch)
            .bind(upload)
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Hands an export back, so that another worker can take it at once; the attempt does not
    /// count.
    #[crate::boxed]
    pub async fn release_export(&self, lease: ExportLease) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE exports SET lease_owner = NULL, lease_until = 0, attempts = attempts - 1
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.export.get())
            .bind(lease.epoch)
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Ends an attempt that failed; the next one may begin at `until`.
    #[crate::boxed]
    pub async fn postpone_export(
        &self,
        lease: ExportLease,
        error: (&str, &str),
        until: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE exports SET lease_owner = $3, lease_until = $4, error_code = $5,
                     error_message = $6
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.export.get())
            .bind(lease.epoch)
            .bind(NOBODY)
            .bind(to_ms(until))
            .bind(error.0)
            .bind(storable(error.1))
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Ends an export; `false` if the lease is no longer held.
    #[crate::boxed]
    pub async fn end_export(
        &self,
        lease: ExportLease,
        outcome: &ExportOutcome,
        (pages, bytes): (u64, u64),
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let (status, error) = match outcome {
            ExportOutcome::Done => ("done", None),
            ExportOutcome::Failed { code, message } => ("failed", Some((*code, message.as_str()))),
            ExportOutcome::Cancelled => ("cancelled", None),
        };
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE exports SET status = $3, pages = $4, bytes = $5, error_code = $6,
                     error_message = $7, finished_at = $8, lease_owner = NULL, lease_until = 0
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(lease.export.get())
            .bind(lease.epoch)
            .bind(status)
            .bind(signed(pages))
            .bind(signed(bytes))
            .bind(error.map(|(code, _)| code))
            .bind(error.map(|(_, message)| storable(message)))
            .bind(to_ms(at))
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }
}
