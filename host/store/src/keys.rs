//! API keys: only their SHA-256 is stored.

use std::fmt;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{KeyId, ProjectId};
use sha2::{Digest as _, Sha256};

use crate::db::{Store, read, transact};
use crate::error::StoreError;
use crate::projects::CloudMode;
use crate::time::{from_ms, to_ms};

/// SHA-256 of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Of a key as the client sends it.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// The 32 bytes.
    pub const fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

/// A key to store.
#[derive(Clone, Copy, Debug)]
pub struct NewKey<'a> {
    /// SHA-256 of the whole key.
    pub hash: KeyHash,
    /// Its first 12 characters.
    pub prefix: &'a str,
    /// What its owner calls it.
    pub label: Option<&'a str>,
}

/// A key as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The row's id.
    pub id: KeyId,
    /// First 12 characters of the key.
    pub prefix: String,
    /// What its owner calls it.
    pub label: Option<String>,
    /// When it was issued.
    pub created_at: DateTime<Utc>,
    /// When it was last used, to within a minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Who a valid key speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The key's project.
    pub project: ProjectId,
    /// The project's name.
    pub project_name: String,
    /// The key.
    pub key: KeyId,
    /// First 12 characters of the key.
    pub prefix: String,
    /// The project's tier.
    pub tier: String,
    /// Whether the project may manage plugins.
    pub administrator: bool,
    /// The project's proxy; may carry credentials.
    pub proxy_url: Option<String>,
    /// The project's default cloud mode.
    pub cloud_mode: CloudMode,
    /// When the key ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// The project may do nothing.
    pub suspended: bool,
}

#[derive(sqlx::FromRow)]
struct PrincipalRow {
    project_id: i64,
    name: String,
    id: i64,
    prefix: String,
    tier: String,
    administrator: i64,
    proxy_url: Option<String>,
    cloud_mode: String,
    expires_at: Option<i64>,
    suspended_at: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct KeyRow {
    id: i64,
    prefix: String,
    label: Option<String>,
    created_at: i64,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
    expires_at: Option<i64>,
}

impl Store {
    /// Whom a key speaks for; `None` when it is unknown, revoked or past its end.
    pub async fn principal(
        &self,
        hash: &KeyHash,
        now: DateTime<Utc>,
    ) -> Result<Option<Principal>, StoreError> {
        let row: Option<PrincipalRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT k.project_id, p.name, k.id, k.prefix, p.tier, p.administrator,
                        p.proxy_url, p.cloud_mode, k.expires_at, p.suspended_at
                 FROM api_keys k JOIN projects p ON p.id = k.project_id
                 WHERE k.hash = $1 AND k.revoked_at IS NULL
                   AND (k.expires_at IS NULL OR k.expires_at > $2)",
            )
            .bind(hash.as_slice())
            .bind(to_ms(now))
            .fetch_optional(pool)
            .await?
        });
        row.map(|row| {
            Ok(Principal {
                project: ProjectId(row.project_id),
                project_name: row.name,
                key: KeyId(row.id),
                prefix: row.prefix,
                tier: row.tier,
                administrator: row.administrator != 0,
                proxy_url: row.proxy_url,
                cloud_mode: row.cloud_mode.parse().map_err(StoreError::Damaged)?,
                expires_at: row.expires_at.map(from_ms),
                suspended: row.suspended_at.is_some(),
            })
        })
        .transpose()
    }

    /// Stores another key of a project.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when that key is stored already.
    pub async fn add_key(
        &self,
        project: ProjectId,
        key: &NewKey<'_>,
        now: DateTime<Utc>,
    ) -> Result<KeyId, StoreError> {
        let id: Result<i64, StoreError> = transact!(self.db, tx => {
            Ok(sqlx::query_scalar(
                "INSERT INTO api_keys (project_id, hash, prefix, label, created_at)
                 VALUES ($1, $2, $3, $4, $5) RETURNING id",
            )
            .bind(project.get())
            .bind(key.hash.as_slice())
            .bind(key.prefix)
            .bind(key.label)
            .bind(to_ms(now))
            .fetch_one(&mut *tx)
            .await?)
        });
        id.map(KeyId).map_err(|error| error.or_exists("that key"))
    }

    /// Every key of a project, oldest first.
    pub async fn keys(&self, project: ProjectId) -> Result<Vec<ApiKey>, StoreError> {
        self.writer.barrier().await?;
        let rows: Vec<KeyRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, prefix, label, created_at, last_used_at, revoked_at, expires_at
                 FROM api_keys WHERE project_id = $1 ORDER BY id",
            )
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| ApiKey {
                id: KeyId(row.id),
                prefix: row.prefix,
                label: row.label,
                created_at: from_ms(row.created_at),
                last_used_at: row.last_used_at.map(from_ms),
                revoked_at: row.revoked_at.map(from_ms),
                expires_at: row.expires_at.map(from_ms),
            })
            .collect())
    }

    /// Notes that a key was used; written with the next batch.
    pub fn touch_key(&self, key: KeyId, at: DateTime<Utc>) {
        self.writer.touch(key, at);
    }
}
