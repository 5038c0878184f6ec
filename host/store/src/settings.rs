//! What the instance remembers about itself.

use crate::db::{Store, read, transact};
use crate::error::StoreError;

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
}
