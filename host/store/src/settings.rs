//! The table `settings`: state of the instance.

use crate::db::{PROMPT, answered, per_database, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::store::Store;

/// Name of the setting that counts changes of projects and keys. A transaction that changes one
/// increments it as its last statement; other nodes read it before they use cached projects and
/// keys.
pub(crate) const ACCOUNTS_VERSION: &str = "accounts.version";

per_database! {
    /// Increments a numeric setting, which is 0 if missing, and tells other nodes of `topic`.
    /// Settings are stored as text.
    pub(crate) async fn count_up(
        conn: &mut Conn,
        name: &str,
        topic: Topic,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO settings (name, value) VALUES ($1, '1')
             ON CONFLICT (name) DO UPDATE
             SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)",
        )
        .bind(name)
        .execute(&mut *conn)
        .await?;
        sql::notices::tell(conn, topic).await
    }

    /// Locks a setting that guards a critical section: one transaction at a time continues.
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

    /// Sets the value of a setting.
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

    /// The value of a setting, which is this one if it had none.
    #[crate::boxed]
    pub async fn first_setting(&self, name: &str, value: &str) -> Result<String, StoreError> {
        transact!(self.db, tx => {
            sqlx::query("INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(name)
                .bind(value)
                .execute(&mut *tx)
                .await?;
            Ok(sqlx::query_scalar("SELECT value FROM settings WHERE name = $1")
                .bind(name)
                .fetch_one(&mut *tx)
                .await?)
        })
    }

    /// Number of changes to projects and keys so far, by any process. Every request waits for it, and none for
    /// long.
    #[crate::boxed]
    pub async fn accounts_version(&self) -> Result<i64, StoreError> {
        let read = self.setting(ACCOUNTS_VERSION);
        let value = match self.is_shared() {
            true => answered(PROMPT, read).await?,
            false => read.await?,
        };
        value.map_or(Ok(0), |value| {
            value
                .parse()
                .map_err(|_| StoreError::Damaged(format!("{ACCOUNTS_VERSION}: {value}")))
        })
    }
}
