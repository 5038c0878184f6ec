//! Work that one process does at a time, of all that use the database: its lease is a setting with
//! the time at which it runs out.

use chrono::{DateTime, TimeDelta, Utc};

use crate::db::transact;
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// Duration of a lease. A process that works longer renews it.
const LEASE: TimeDelta = TimeDelta::seconds(45);

/// Work that one process does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExclusiveWork {
    /// Sweeping the blob store.
    BlobSweep,
    /// Deleting what projects store beyond their bounds.
    Shrinking,
}

impl ExclusiveWork {
    const fn setting(self) -> &'static str {
        match self {
            Self::BlobSweep => "blobs.sweeper",
            Self::Shrinking => "retention.shrinking",
        }
    }
}

impl Store {
    /// Takes the lease of the work; `false` if another process has it.
    #[crate::boxed]
    pub async fn begin_exclusive_work(
        &self,
        work: ExclusiveWork,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let taken = sqlx::query(
                "INSERT INTO settings (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value
                 WHERE CAST(settings.value AS BIGINT) <= $3",
            )
            .bind(work.setting())
            .bind(to_ms(now + LEASE).to_string())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(taken.rows_affected() == 1)
        })
    }

    /// Renews the lease of the work.
    #[crate::boxed]
    pub async fn keep_exclusive_work(
        &self,
        work: ExclusiveWork,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let until = to_ms(now + LEASE).to_string();
        self.set_setting(work.setting(), &until).await
    }

    /// Ends the lease of the work: another process may take it at once.
    #[crate::boxed]
    pub async fn end_exclusive_work(
        &self,
        work: ExclusiveWork,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.set_setting(work.setting(), &to_ms(now).to_string())
            .await
    }
}
