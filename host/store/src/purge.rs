//! Removing what is past its time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::db::{Db, Store, transact};
use crate::error::StoreError;
use crate::time::to_ms;

/// Rows per transaction, so that purging never holds the writer for long.
const CHUNK: i64 = 500;

/// How long rows are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Pages of scans.
    pub scans: Duration,
    /// The request log.
    pub request_log: Duration,
}

impl Store {
    /// Removes what is past its time; the number of rows removed.
    pub async fn purge(&self, keep: &Retention, now: DateTime<Utc>) -> Result<u64, StoreError> {
        let before = |age: Duration| {
            TimeDelta::from_std(age)
                .ok()
                .and_then(|age| now.checked_sub_signed(age))
                .map_or(i64::MIN, to_ms)
        };
        let mut removed = 0;
        loop {
            let batch = self.purge_scans(before(keep.scans)).await?;
            removed += batch;
            if batch < CHUNK.unsigned_abs() {
                break;
            }
        }
        loop {
            let batch = self.purge_log(before(keep.request_log)).await?;
            removed += batch;
            if batch < CHUNK.unsigned_abs() {
                break;
            }
        }
        removed += self
            .purge_idempotency(to_ms(now - TimeDelta::hours(24)))
            .await?;
        removed += self.purge_reservations(to_ms(now)).await?;
        if let Db::Lite(lite) = &self.db {
            sqlx::query("PRAGMA incremental_vacuum(1000)")
                .execute(&lite.write)
                .await?;
        }
        Ok(removed)
    }

    async fn purge_scans(&self, before: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => {
            let blobs: Vec<Option<i64>> = sqlx::query_scalar(
                "DELETE FROM pages WHERE id IN (
                     SELECT id FROM pages
                     WHERE fetched_at < $1 AND run_id IS NULL ORDER BY fetched_at LIMIT $2)
                 RETURNING blob_id",
            )
            .bind(before)
            .bind(CHUNK)
            .fetch_all(&mut *tx)
            .await?;
            let removed = blobs.len() as u64;
            let mut blobs: Vec<i64> = blobs.into_iter().flatten().collect();
            // One order in every transaction, so that two nodes never wait for each other.
            blobs.sort_unstable();
            for blob in blobs {
                let refs: Option<i64> = sqlx::query_scalar(
                    "UPDATE blobs SET refs = refs - 1 WHERE id = $1 RETURNING refs",
                )
                .bind(blob)
                .fetch_optional(&mut *tx)
                .await?;
                if refs.is_some_and(|refs| refs <= 0) {
                    sqlx::query("DELETE FROM blobs WHERE id = $1")
                        .bind(blob)
                        .execute(&mut *tx)
                        .await?;
                }
            }
            Ok(removed)
        })
    }

    async fn purge_log(&self, before: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "DELETE FROM request_log WHERE ts < $1 AND id IN (
                     SELECT id FROM request_log ORDER BY id LIMIT $2)",
            )
            .bind(before)
            .bind(CHUNK)
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected())
        })
    }

    async fn purge_idempotency(&self, before: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query("DELETE FROM idempotency WHERE created_at < $1")
                .bind(before)
                .execute(&mut *tx)
                .await?;
            Ok(done.rows_affected())
        })
    }

    /// What dead processes held.
    async fn purge_reservations(&self, now: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query("DELETE FROM quota_reservations WHERE expires_at <= $1")
                .bind(now)
                .execute(&mut *tx)
                .await?;
            Ok(done.rows_affected())
        })
    }
}
