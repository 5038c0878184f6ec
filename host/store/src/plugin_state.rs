//! Values that plugins keep between calls: for each project and plugin, bounded, with versions
//! for compare-and-swap and with expiry.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, read, signed, transact};
use crate::error::StoreError;
use crate::plugins::PluginKey;
use crate::store::Store;
use crate::time::to_ms;

/// Whose values: a plugin's, in one project.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateOwner {
    /// The project of the caller.
    pub project: ProjectId,
    /// Whether the plugin is the project's own, and not the instance's of that name.
    pub own: bool,
    /// `actor` or `fetcher`.
    pub kind: String,
    /// The plugin's name.
    pub name: String,
}

impl StateOwner {
    /// The upload, if it is the project's own.
    fn own_plugin(&self) -> Option<PluginKey> {
        self.own.then(|| PluginKey {
            project: Some(self.project),
            kind: self.kind.clone(),
            name: self.name.clone(),
        })
    }
}

/// A value and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEntry {
    /// The value.
    pub value: Vec<u8>,
    /// Increases with every write in the project; at least 1.
    pub version: i64,
}

/// A value to write.
#[derive(Clone, Debug)]
pub struct StateWrite<'a> {
    /// The key.
    pub key: &'a str,
    /// The value; `None` deletes it.
    pub value: Option<&'a [u8]>,
    /// Write only if this is the current version; 0: only if there is no value.
    pub expected: Option<i64>,
    /// When the value expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// The time now.
    pub now: DateTime<Utc>,
}

/// Bounds of a project's values.
#[derive(Clone, Copy, Debug)]
pub struct StateBounds {
    /// Most bytes of keys and values of all plugins.
    pub bytes: u64,
    /// Most values of all plugins.
    pub entries: u64,
}

impl StateBounds {
    /// Whether an entry of `size` bytes fits in place of one of `old` bytes.
    fn hold(&self, bytes: u64, entries: u64, old: Option<i64>, size: u64) -> bool {
        let old_size = old.map_or(0, |size| u64::try_from(size).unwrap_or_default());
        bytes.saturating_sub(old_size).saturating_add(size) <= self.bytes
            && entries + u64::from(old.is_none()) <= self.entries
    }
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateWritten {
    /// It is written; the new version, 0 after a deletion.
    Written(i64),
    /// Another version is current; 0: there is no value.
    Conflict(i64),
    /// The project's values would exceed their bounds.
    Full,
    /// The project's own plugin was deleted.
    Gone,
}

#[derive(sqlx_macros::FromRow)]
struct EntryRow {
    value: Vec<u8>,
    version: i64,
}

/// Entries deleted in one transaction.
const SWEEP: i64 = 1_000;

/// Bytes that an entry counts besides its key and value.
const OVERHEAD: u64 = 64;

per_database! {
    /// Takes the project's counters, and locks them: one transaction at a time writes its values.
    pub(crate) async fn lock_use(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<(u64, u64, i64), StoreError> {
        let (bytes, entries, version): (i64, i64, i64) = sqlx::query_as(
            "INSERT INTO plugin_state_use (project_id, bytes, entries, version)
             VALUES ($1, 0, 0, 1)
             ON CONFLICT (project_id) DO UPDATE SET version = plugin_state_use.version + 1
             RETURNING bytes, entries, version",
        )
        .bind(project.get())
        .fetch_one(&mut *conn)
        .await?;
        let number = |count| u64::try_from(count).unwrap_or_default();
        Ok((number(bytes), number(entries), version))
    }

    pub(crate) async fn add_use(
        conn: &mut Conn,
        project: ProjectId,
        bytes: i64,
        entries: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE plugin_state_use SET bytes = bytes + $2, entries = entries + $3
             WHERE project_id = $1",
        )
        .bind(project.get())
        .bind(bytes)
        .bind(entries)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes some entries of a project that have expired, and counts them.
    pub(crate) async fn sweep(
        conn: &mut Conn,
        project: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        let gone: Vec<i64> = sqlx::query_scalar(
            "DELETE FROM plugin_state WHERE project_id = $1 AND (own, kind, name, key) IN (
                 SELECT own, kind, name, key FROM plugin_state
                 WHERE project_id = $1 AND expires_at <= $2 LIMIT $3
             ) RETURNING bytes",
        )
        .bind(project.get())
        .bind(to_ms(now))
        .bind(SWEEP)
        .fetch_all(&mut *conn)
        .await?;
        let count = gone.len() as u64;
        if count > 0 {
            sql::plugin_state::add_use(conn, project, -gone.iter().sum::<i64>(), -signed(count))
                .await?;
        }
        Ok(count)
    }

    /// Deletes some entries of a plugin in a project, and counts them.
    pub(crate) async fn remove_some(conn: &mut Conn, owner: &StateOwner) -> Result<u64, StoreError> {
        let gone: Vec<i64> = sqlx::query_scalar(
            "DELETE FROM plugin_state
             WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND key IN (
                 SELECT key FROM plugin_state
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 LIMIT $5
             ) RETURNING bytes",
        )
        .bind(owner.project.get())
        .bind(i64::from(owner.own))
        .bind(owner.kind.as_str())
        .bind(owner.name.as_str())
        .bind(SWEEP)
        .fetch_all(&mut *conn)
        .await?;
        let count = gone.len() as u64;
        if count > 0 {
            let bytes = -gone.iter().sum::<i64>();
            sql::plugin_state::add_use(conn, owner.project, bytes, -signed(count)).await?;
        }
        Ok(count)
    }

    /// Version, size and expiry of an entry, expired or not.
    pub(crate) async fn found(
        conn: &mut Conn,
        owner: &StateOwner,
        key: &str,
    ) -> Result<Option<(i64, i64, Option<i64>)>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT version, bytes, expires_at FROM plugin_state
             WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND key = $5",
        )
        .bind(owner.project.get())
        .bind(i64::from(owner.own))
        .bind(owner.kind.as_str())
        .bind(owner.name.as_str())
        .bind(key)
        .fetch_optional(&mut *conn)
        .await?)
    }
}

impl Store {
    /// A value; `None` if there is none or it has expired.
    #[crate::boxed]
    pub async fn plugin_state(
        &self,
        owner: &StateOwner,
        key: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<StateEntry>, StoreError> {
        let row: Option<EntryRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT value, version FROM plugin_state
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND key = $5
                   AND (expires_at IS NULL OR expires_at > $6)",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(key)
            .bind(to_ms(now))
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(|row| StateEntry {
            value: row.value,
            version: row.version,
        }))
    }

    /// Keys of a range, in ascending byte order.
    #[crate::boxed]
    pub async fn plugin_state_keys(
        &self,
        owner: &StateOwner,
        range: &StateKeys<'_>,
        now: DateTime<Utc>,
    ) -> Result<Vec<String>, StoreError> {
        Ok(read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT key FROM plugin_state
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4
                   AND key >= $5 AND key > $6 AND ($7 = '' OR key < $7)
                   AND (expires_at IS NULL OR expires_at > $8)
                 ORDER BY key LIMIT $9",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(range.from)
            .bind(range.after)
            .bind(range.before)
            .bind(to_ms(now))
            .bind(i64::from(range.limit))
            .fetch_all(pool)
            .await?
        }))
    }

    /// Writes or deletes a value, if its version is the expected one and it fits. For a project's own plugin that was
    /// deleted nothing is written.
    #[crate::boxed]
    pub async fn write_plugin_state(
        &self,
        owner: &StateOwner,
        write: &StateWrite<'_>,
        bounds: StateBounds,
    ) -> Result<StateWritten, StoreError> {
        let now = to_ms(write.now);
        transact!(quiet true, self.db, tx => {
            let (mut bytes, mut entries, version) =
                sql::plugin_state::lock_use(tx, owner.project).await?;
            let mut old = sql::plugin_state::found(tx, owner, write.key).await?;
            let live = old.filter(|(_, _, expires)| expires.is_none_or(|at| at > now));
            let current = live.map_or(0, |(version, ..)| version);
            if write.expected.is_some_and(|expected| expected != current) {
                return Ok(StateWritten::Conflict(current));
            }
            let Some(value) = write.value else {
                sqlx::query(
                    "DELETE FROM plugin_state
                     WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND key = $5",
                )
                .bind(owner.project.get())
                .bind(i64::from(owner.own))
                .bind(owner.kind.as_str())
                .bind(owner.name.as_str())
                .bind(write.key)
                .execute(&mut *tx)
                .await?;
                if let Some((_, size, _)) = old {
                    sql::plugin_state::add_use(tx, owner.project, -size, -1).await?;
                }
                return Ok(StateWritten::Written(0));
            };
            // A call may outlive its plugin. The counters are locked: a deletion of the values that follows
            // that of the plugin waits for this write.
            if let Some(key) = owner.own_plugin()
                && !sql::plugins::is_there(tx, &key).await?
            {
                return Ok(StateWritten::Gone);
            }
            let size = (write.key.len() + value.len()) as u64 + OVERHEAD;
            if !bounds.hold(bytes, entries, old.map(|(_, size, _)| size), size) {
                // Expired entries make room.
                sql::plugin_state::sweep(tx, owner.project, write.now).await?;
                (bytes, entries, _) = sql::plugin_state::lock_use(tx, owner.project).await?;
                old = sql::plugin_state::found(tx, owner, write.key).await?;
                if !bounds.hold(bytes, entries, old.map(|(_, size, _)| size), size) {
                    return Ok(StateWritten::Full);
                }
            }
            let (old_size, old_entries) = old.map_or((0, 0), |(_, size, _)| (size, 1));
            sqlx::query(
                "INSERT INTO plugin_state (project_id, own, kind, name, key, value, bytes, version,
                                           expires_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                 ON CONFLICT (project_id, own, kind, name, key) DO UPDATE
                 SET value = excluded.value, bytes = excluded.bytes, version = excluded.version,
                     expires_at = excluded.expires_at",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(write.key)
            .bind(value)
            .bind(signed(size))
            .bind(version)
            .bind(write.expires_at.map(to_ms))
            .execute(&mut *tx)
            .await?;
            let (more_bytes, more) = (signed(size) - old_size, 1 - old_entries);
            sql::plugin_state::add_use(tx, owner.project, more_bytes, more).await?;
            Ok(StateWritten::Written(version))
        })
    }

    /// Deletes all values of a plugin in a project.
    #[crate::boxed]
    pub async fn delete_plugin_state(&self, owner: &StateOwner) -> Result<(), StoreError> {
        loop {
            let gone: Result<u64, StoreError> = transact!(self.db, tx => {
                sql::plugin_state::lock_use(tx, owner.project).await?;
                sql::plugin_state::remove_some(tx, owner).await
            });
            if gone? == 0 {
                return Ok(());
            }
        }
    }

    /// Deletes values that have expired, in small transactions. Returns their number.
    #[crate::boxed]
    pub async fn sweep_plugin_state(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let project: Option<i64> = read!(self.db, pool => {
                sqlx::query_scalar(
                    "SELECT project_id FROM plugin_state WHERE expires_at <= $1 LIMIT 1",
                )
                .bind(to_ms(now))
                .fetch_optional(pool)
                .await?
            });
            let Some(project) = project.map(ProjectId) else {
                return Ok(swept);
            };
            let gone: Result<u64, StoreError> = transact!(quiet true, self.db, tx => {
                sql::plugin_state::lock_use(tx, project).await?;
                sql::plugin_state::sweep(tx, project, now).await
            });
            swept += gone?;
        }
    }
}

/// Which keys to list.
#[derive(Clone, Copy, Debug)]
pub struct StateKeys<'a> {
    /// The first key at the earliest.
    pub from: &'a str,
    /// Only keys behind this one; empty: no bound.
    pub after: &'a str,
    /// Only keys before this one; empty: no bound.
    pub before: &'a str,
    /// Most keys.
    pub limit: u32,
}
