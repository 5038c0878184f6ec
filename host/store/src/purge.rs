//! Deletion of expired rows.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::db::{Db, PATIENCE, answered, transact};
use crate::error::StoreError;
use crate::logs::partitions;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Rows per transaction, so that purging never blocks other writers for long.
const CHUNK: i64 = 500;
/// How long a key is listed after its end.
const ENDED_KEYS: TimeDelta = TimeDelta::days(90);
/// How long answers to requests with an Idempotency-Key are kept.
const ANSWERS: TimeDelta = TimeDelta::hours(24);

/// How long rows are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Pages of scans.
    pub scans: Duration,
    /// The request log.
    pub request_log: Duration,
    /// What plugins logged, their failed calls, and what was told of them.
    pub plugin_records: Duration,
}

impl Store {
    /// Deletes expired rows; returns how many. On PostgreSQL whole days of the request log go at once,
    /// when their last entry has expired.
    #[crate::boxed]
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
        if let Db::Pg(pool) = &self.db {
            let kept = i64::try_from(keep.request_log.as_millis()).unwrap_or(i64::MAX);
            answered(PATIENCE, partitions::make_ahead(pool, to_ms(now), kept)).await?;
            let dropped = partitions::drop_before(pool, before(keep.request_log));
            removed += answered(PATIENCE, dropped).await?;
        }
        loop {
            let batch = self.purge_log(before(keep.request_log)).await?;
            removed += batch;
            if batch < CHUNK.unsigned_abs() {
                break;
            }
        }
        loop {
            let batch = self.purge_idempotency(to_ms(now - ANSWERS)).await?;
            removed += batch;
            if batch < CHUNK.unsigned_abs() {
                break;
            }
        }
        loop {
            let batch = self.purge_keys(to_ms(now - ENDED_KEYS)).await?;
            removed += batch;
            if batch < CHUNK.unsigned_abs() {
                break;
            }
        }
        removed += self.purge_reservations(to_ms(now)).await?;
        removed += self.sweep_plugin_state(now).await?;
        let records = from_ms(before(keep.plugin_records));
        removed += self.sweep_plugin_records(records).await?;
        removed += self.sweep_receivers(records).await?;
        if let Db::Lite(lite) = &self.db {
            let (turn, mut connection) = lite.write.acquire().await?;
            sqlx::query("PRAGMA incremental_vacuum(1000)")
                .execute(&mut *connection)
                .await?;
            turn.keep(connection);
        }
        Ok(removed)
    }

    async fn purge_scans(&self, before: i64) -> Result<u64, StoreError> {
        let removed: Result<u64, StoreError> = transact!(self.db, tx => {
            let pages = sql::pages::delete_scans_before(tx, before, CHUNK).await?;
            let blobs = pages.iter().filter_map(|(project, blob)| Some(((*blob)?, *project)));
            sql::bodies::release(tx, blobs).await?;
            Ok(pages.len() as u64)
        });
        let removed = removed?;
        if removed > 0 {
            self.count_removal();
        }
        Ok(removed)
    }

    async fn purge_log(&self, before: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => sql::logs::delete_before(tx, before, CHUNK).await)
    }

    async fn purge_idempotency(&self, before: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => sql::idempotency::delete_before(tx, before, CHUNK).await)
    }

    async fn purge_keys(&self, before: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => sql::keys::delete_ended(tx, before, CHUNK).await)
    }

    /// Deletes reservations of dead processes.
    async fn purge_reservations(&self, now: i64) -> Result<u64, StoreError> {
        transact!(self.db, tx => sql::reservations::delete_ended(tx, now).await)
    }
}
