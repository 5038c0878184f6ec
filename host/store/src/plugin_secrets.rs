//! Secrets of projects for requests of plugins: encrypted values, each with the hosts that may
//! receive it.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// A secret without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSecret {
    /// Unique within the project.
    pub name: String,
    /// JSON array of origins that may receive it.
    pub hosts: String,
    /// When it was first stored.
    pub created_at: DateTime<Utc>,
    /// When its value or its hosts were last stored.
    pub updated_at: DateTime<Utc>,
}

/// An encrypted secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// The encrypted value.
    pub sealed: Vec<u8>,
    /// JSON array of origins that may receive it.
    pub hosts: String,
}

/// What became of a secret to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedSecret {
    /// It is new.
    Created,
    /// It replaced one of its name.
    Replaced,
    /// The project has as many as it may have.
    Full,
}

#[derive(sqlx_macros::FromRow)]
struct SecretRow {
    name: String,
    hosts: String,
    created_at: i64,
    updated_at: i64,
}

#[derive(sqlx_macros::FromRow)]
struct SealedRow {
    sealed: Vec<u8>,
    hosts: String,
}

per_database! {
    pub(crate) async fn replace(
        conn: &mut Conn,
        project: ProjectId,
        name: &str,
        secret: &SealedSecret,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE plugin_secrets SET sealed = $3, hosts = $4, updated_at = $5
             WHERE project_id = $1 AND name = $2",
        )
        .bind(project.get())
        .bind(name)
        .bind(secret.sealed.as_slice())
        .bind(secret.hosts.as_str())
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }
}

impl Store {
    /// Stores a secret, if the project has fewer than `most` or one of its name.
    #[crate::boxed]
    pub async fn save_plugin_secret(
        &self,
        project: ProjectId,
        name: &str,
        secret: &SealedSecret,
        most: u32,
        now: DateTime<Utc>,
    ) -> Result<SavedSecret, StoreError> {
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            if sql::plugin_secrets::replace(tx, project, name, secret, now).await? {
                return Ok(SavedSecret::Replaced);
            }
            let count: i64 = sqlx::query_scalar(
                "SELECT COUNT(*) FROM plugin_secrets WHERE project_id = $1",
            )
            .bind(project.get())
            .fetch_one(&mut *tx)
            .await?;
            if count >= i64::from(most) {
                return Ok(SavedSecret::Full);
            }
            sqlx::query(
                "INSERT INTO plugin_secrets (project_id, name, sealed, hosts, created_at, updated_at)
                 VALUES ($1, $2, $3, $4, $5, $5)",
            )
            .bind(project.get())
            .bind(name)
            .bind(secret.sealed.as_slice())
            .bind(secret.hosts.as_str())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(SavedSecret::Created)
        })
    }

    /// The project's secrets by name, without values.
    #[crate::boxed]
    pub async fn plugin_secrets(
        &self,
        project: ProjectId,
    ) -> Result<Vec<PluginSecret>, StoreError> {
        let rows: Vec<SecretRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT name, hosts, created_at, updated_at FROM plugin_secrets
                 WHERE project_id = $1 ORDER BY name",
            )
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        let secret = |row: SecretRow| PluginSecret {
            name: row.name,
            hosts: row.hosts,
            created_at: from_ms(row.created_at),
            updated_at: from_ms(row.updated_at),
        };
        Ok(rows.into_iter().map(secret).collect())
    }

    /// A secret of the project, encrypted.
    #[crate::boxed]
    pub async fn plugin_secret(
        &self,
        project: ProjectId,
        name: &str,
    ) -> Result<Option<SealedSecret>, StoreError> {
        let row: Option<SealedRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT sealed, hosts FROM plugin_secrets WHERE project_id = $1 AND name = $2",
            )
            .bind(project.get())
            .bind(name)
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(|row| SealedSecret {
            sealed: row.sealed,
            hosts: row.hosts,
        }))
    }

    /// The secret of any project that was stored last: its project, its name and its encrypted value.
    #[crate::boxed]
    pub async fn newest_plugin_secret(
        &self,
    ) -> Result<Option<(ProjectId, String, Vec<u8>)>, StoreError> {
        let row: Option<(i64, String, Vec<u8>)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, name, sealed FROM plugin_secrets
                 ORDER BY updated_at DESC, project_id, name LIMIT 1",
            )
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(|(project, name, sealed)| (ProjectId(project), name, sealed)))
    }

    /// Deletes a secret. Returns whether there was one.
    #[crate::boxed]
    pub async fn delete_plugin_secret(
        &self,
        project: ProjectId,
        name: &str,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query("DELETE FROM plugin_secrets WHERE project_id = $1 AND name = $2")
                .bind(project.get())
                .bind(name)
                .execute(&mut *tx)
                .await?;
            Ok(done.rows_affected() > 0)
        })
    }
}
