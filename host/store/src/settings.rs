//! The table `settings`: what the instance remembers about itself.

use crate::db::{Store, per_database, read, transact};
use crate::error::StoreError;

/// Setting that counts changes of projects and keys. A transaction that changes one counts it
/// up as its last statement: other nodes look at the number before they trust what they
/// remember.
pub(crate) const ACCOUNTS_VERSION: &str = "accounts.version";

per_database! {
    /// Adds 1 to a setting that is a number; 0 where there is none. Settings are text.
    pub(crate) async fn count_up(conn: &mut Conn, name: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO settings (name, value) VALUES ($1, '1')
             ON CONFLICT (name) DO UPDATE
             SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)",
        )
        .bind(name)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Locks a setting that stands for a piece of work: one transaction at a time passes here.
    pub(crate) async fn lock(conn: &mut Conn, name: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO settings (name, value) VALUES ($1, '')
             ON CONFLICT (name) DO UPDATE SET value = ''",
        )
        .bind(name)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

impl Store {
    /// The value of a setting.
    #[crate::boxed]
    pub async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_scalar("SELECT value FROM settings WHERE name = $1")
                .bind(name)
                .fetch_optional(pool)
                .await?)
        })
    }

    /// Sets it.
    #[crate::boxed]
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
    #[crate::boxed]
    pub async fn accounts_version(&self) -> Result<i64, StoreError> {
        let value = self.setting(ACCOUNTS_VERSION).await?;
        value.map_or(Ok(0), |value| {
            value
                .parse()
                .map_err(|_| StoreError::Damaged(format!("{ACCOUNTS_VERSION}: {value}")))
        })
    }
}
