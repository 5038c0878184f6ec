//! API keys: only their SHA-256 is stored.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{KeyId, ProjectId};
use sha2::{Digest as _, Sha256};

use super::CloudMode;
use super::key_events::KeyChange;
use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::settings::ACCOUNTS_VERSION;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Active keys that a project may have: each rotation with a grace period adds one.
pub const MAX_ACTIVE_KEYS: u32 = 100;

/// Keys of a project that stay listed after their end: the newest ones. Rotations without a grace period
/// make any number.
pub const MAX_ENDED_KEYS: u32 = 1_000;
/// Most of the others that one rotation deletes.
const FORGOTTEN: i64 = 100;

/// SHA-256 of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Hashes a key as the client sends it.
    pub fn digest(key: &str) -> Self {
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
    /// Label that its owner gave it.
    pub label: Option<&'a str>,
}

/// A key as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The row's id.
    pub id: KeyId,
    /// First 12 characters of the key.
    pub prefix: String,
    /// Label that its owner gave it.
    pub label: Option<String>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was last used, accurate to a minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// When it expires.
    pub expires_at: Option<DateTime<Utc>>,
}

/// State of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It is valid.
    Active,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
}

impl ApiKey {
    /// Its state at `now`.
    pub fn state(&self, now: DateTime<Utc>) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyState::Expired
        } else {
            KeyState::Active
        }
    }
}

/// The project and key that a request is authenticated as.
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
    /// When the key expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether the project is suspended: then it may do nothing.
    pub suspended: bool,
}

#[derive(sqlx_macros::FromRow)]
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

/// The columns that decide whether a key is valid.
#[derive(Debug, sqlx_macros::FromRow)]
pub(crate) struct ValidityRow {
    id: i64,
    prefix: String,
    revoked_at: Option<i64>,
    expires_at: Option<i64>,
}

impl ValidityRow {
    fn is_active(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > to_ms(now))
    }

    /// Whether it is valid until it is revoked.
    fn is_lasting(&self) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none()
    }
}

#[derive(sqlx_macros::FromRow)]
struct KeyRow {
    id: i64,
    prefix: String,
    label: Option<String>,
    created_at: i64,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
    expires_at: Option<i64>,
}

per_database! {
    /// Stores a key and the event of its creation; returns its id.
    pub(crate) async fn insert(
        conn: &mut Conn,
        key: &NewKey<'_>,
        issued: KeyChange<'_>,
    ) -> Result<i64, StoreError> {
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO api_keys (project_id, hash, prefix, label, created_at)
             VALUES ($1, $2, $3, $4, $5) RETURNING id",
        )
        .bind(issued.project.get())
        .bind(key.hash.as_slice())
        .bind(key.prefix)
        .bind(key.label)
        .bind(to_ms(issued.at))
        .fetch_one(&mut *conn)
        .await?;
        sql::key_events::note(conn, id, issued).await?;
        Ok(id)
    }

    /// Sets the expiry of the project's keys to `end`, except where it is earlier already; returns
    /// their ids.
    pub(crate) async fn end_at(
        conn: &mut Conn,
        project: ProjectId,
        end: DateTime<Utc>,
    ) -> Result<Vec<i64>, StoreError> {
        Ok(sqlx::query_scalar(
            "UPDATE api_keys SET expires_at = $2
             WHERE project_id = $1 AND revoked_at IS NULL
               AND (expires_at IS NULL OR expires_at > $2)
             RETURNING id",
        )
        .bind(project.get())
        .bind(to_ms(end))
        .fetch_all(&mut *conn)
        .await?)
    }

    /// Takes the end of a key away.
    pub(crate) async fn keep(
        conn: &mut Conn,
        key: i64,
        change: KeyChange<'_>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE api_keys SET expires_at = NULL WHERE id = $1")
            .bind(key)
            .execute(&mut *conn)
            .await?;
        sql::key_events::note(conn, key, change).await
    }

    /// Every key of the project with the columns that decide whether it is valid.
    pub(crate) async fn validity(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<Vec<ValidityRow>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT id, prefix, revoked_at, expires_at FROM api_keys WHERE project_id = $1",
        )
        .bind(project.get())
        .fetch_all(&mut *conn)
        .await?)
    }

    /// Deletes keys that ended before `before`, with their events; returns how many.
    pub(crate) async fn delete_ended(
        conn: &mut Conn,
        before: i64,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys
                 WHERE revoked_at < $1 OR expires_at < $1 ORDER BY id LIMIT $2)",
        )
        .bind(before)
        .bind(limit)
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Deletes keys of the project that have ended, with their events, except the newest ones.
    pub(crate) async fn forget_oldest(
        conn: &mut Conn,
        project: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys
                 WHERE project_id = $1 AND (revoked_at IS NOT NULL OR expires_at <= $2)
                 ORDER BY id DESC LIMIT $3 OFFSET $4)",
        )
        .bind(project.get())
        .bind(to_ms(now))
        .bind(FORGOTTEN)
        .bind(i64::from(MAX_ENDED_KEYS))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Revokes a key.
    pub(crate) async fn revoke(
        conn: &mut Conn,
        key: i64,
        change: KeyChange<'_>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE api_keys SET revoked_at = $2 WHERE id = $1")
            .bind(key)
            .bind(to_ms(change.at))
            .execute(&mut *conn)
            .await?;
        sql::key_events::note(conn, key, change).await
    }

    /// Records when keys were last used.
    pub(crate) async fn touch(
        conn: &mut Conn,
        used: &BTreeMap<KeyId, DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        for (key, at) in used {
            sqlx::query("UPDATE api_keys SET last_used_at = $2 WHERE id = $1")
                .bind(key.get())
                .bind(to_ms(*at))
                .execute(&mut *conn)
                .await?;
        }
        Ok(())
    }
}

/// Result of revoking a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It is revoked, by this or an earlier call.
    Yes,
    /// It is the last active key, so it was not revoked.
    LastActive,
    /// The project has no such key.
    Unknown,
}

impl Store {
    /// The project and key of a hash; `None` if the key is unknown, revoked or expired.
    #[crate::boxed]
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

    /// Stores another key of a project. `actor` is who requested it.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if that key is stored already.
    #[crate::boxed]
    pub async fn add_key(
        &self,
        project: ProjectId,
        key: &NewKey<'_>,
        actor: &str,
        now: DateTime<Utc>,
    ) -> Result<KeyId, StoreError> {
        let id: Result<i64, StoreError> = transact!(self.db, tx => {
            let id = sql::keys::insert(tx, key, KeyChange::issued(project, actor, now)).await?;
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(id)
        });
        id.map(KeyId).map_err(|error| error.or_exists("that key"))
    }

    /// Stores another key of a project. The existing keys expire at `end`, except those that
    /// expire earlier. `None`, and nothing is changed, where more than [`MAX_ACTIVE_KEYS`] would be
    /// active. Of the keys that have ended, the newest [`MAX_ENDED_KEYS`] are kept.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if that key is stored already.
    #[crate::boxed]
    pub async fn rotate_keys(
        &self,
        project: ProjectId,
        key: &NewKey<'_>,
        end: DateTime<Utc>,
        actor: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<KeyId>, StoreError> {
        let id: Result<Option<i64>, StoreError> = transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            if end > now {
                let keys = sql::keys::validity(tx, project).await?;
                let active = keys.iter().filter(|key| key.is_active(now)).count();
                if active >= MAX_ACTIVE_KEYS as usize {
                    return Ok(None);
                }
            }
            let grace = KeyChange { project, action: "grace", actor, at: now };
            for key in sql::keys::end_at(tx, project, end).await? {
                sql::key_events::note(tx, key, grace).await?;
            }
            sql::keys::forget_oldest(tx, project, now).await?;
            let id = sql::keys::insert(tx, key, KeyChange::issued(project, actor, now)).await?;
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(Some(id))
        });
        id.map(|id| id.map(KeyId))
            .map_err(|error| error.or_exists("that key"))
    }

    /// Revokes the keys of that prefix, unless no active key would be left. Where all that are left
    /// would expire, the one that does so last does not expire any more: else nobody could request
    /// a new key in the end.
    #[crate::boxed]
    pub async fn revoke_key(
        &self,
        project: ProjectId,
        prefix: &str,
        actor: &str,
        now: DateTime<Utc>,
    ) -> Result<Revoked, StoreError> {
        transact!(self.db, tx => {
            // Without the lock, two requests that each keep the other's key could leave none.
            sql::projects::lock(tx, project).await?;
            let keys = sql::keys::validity(tx, project).await?;
            let (named, others): (Vec<_>, Vec<_>) =
                keys.into_iter().partition(|key| key.prefix == prefix);
            if named.is_empty() {
                return Ok(Revoked::Unknown);
            }
            let takes_active = named.iter().any(|key| key.is_active(now));
            let leaves_active = others.iter().any(|key| key.is_active(now));
            if takes_active && !leaves_active {
                return Ok(Revoked::LastActive);
            }
            let takes_lasting = named.iter().any(ValidityRow::is_lasting);
            if takes_lasting && !others.iter().any(ValidityRow::is_lasting) {
                let active = others.iter().filter(|key| key.is_active(now));
                if let Some(last) = active.max_by_key(|key| (key.expires_at, key.id)) {
                    let kept = KeyChange { project, action: "kept", actor, at: now };
                    sql::keys::keep(tx, last.id, kept).await?;
                }
            }
            let revoked = KeyChange { project, action: "revoked", actor, at: now };
            for key in named.iter().filter(|key| key.revoked_at.is_none()) {
                sql::keys::revoke(tx, key.id, revoked).await?;
            }
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(Revoked::Yes)
        })
    }

    /// Every key of a project, oldest first.
    #[crate::boxed]
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

    /// Records that a key was used; written with the next batch.
    pub fn touch_key(&self, key: KeyId, at: DateTime<Utc>) {
        self.writer.touch(key, at);
    }
}
