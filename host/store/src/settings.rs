//! What the instance remembers about itself.

use crate::db::{Store, read, transact};
use crate::error::StoreError;

/// Counts changes of projects and keys.
const ACCOUNTS_VERSION: &str = "accounts.version";

/// Counts a change of a project or a key, in the caller's transaction and as its last
/// statement: other nodes look at the number before they trust what they remember.
macro_rules! accounts_changed {
    ($tx:expr) => {
        sqlx::query(
            "INSERT INTO settings (name, value) VALUES ('accounts.version', '1')
             ON CONFLICT (name) DO UPDATE
             SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)",
        )
        .execute(&mut *$tx)
        .await?
    };
}

pub(crate) use accounts_changed;

impl Store {
    /// The value of a setting.
    pub async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_scalar("SELECT value FROM settings WHERE name = $1")
                .bind(name)
                .fetch_optional(pool)
                .await?)
        })
    }

    /// Sets it.
    pub async fn set_setting(&self, name: &str, value: &str) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "INSERT INTO settings (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )
            .bind(name)
            .bind(value)
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// How often a project or a key was changed, by whichever process.
    pub async fn accounts_version(&self) -> Result<i64, StoreError> {
        let value = self.setting(ACCOUNTS_VERSION).await?;
        value.map_or(Ok(0), |value| {
            value
                .parse()
                .map_err(|_| StoreError::Damaged(format!("{ACCOUNTS_VERSION}: {value}")))
        })
    }
}
