//! Uploaded plugins and their versions. A version never changes; one of them serves.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, read, signed, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Name of the setting that counts changes, so that nodes need not compare the list.
pub(crate) const VERSION: &str = "plugins_version";

/// Owner, kind and name of an uploaded plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginKey {
    /// The project that it belongs to; `None`: the instance.
    pub project: Option<ProjectId>,
    /// `extractor`, `actor`, `fetcher` or `hook`.
    pub kind: String,
    /// Unique within owner and kind.
    pub name: String,
}

impl PluginKey {
    /// The owner in SQL: 0 for the instance.
    fn owner(&self) -> i64 {
        owner(self.project)
    }
}

fn owner(project: Option<ProjectId>) -> i64 {
    project.map_or(0, ProjectId::get)
}

/// A version of an uploaded plugin, without its component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedPlugin {
    /// Whose it is, and its name.
    pub key: PluginKey,
    /// The tier of a project; `None` for the instance.
    pub tier: Option<String>,
    /// Counts the plugin's versions, from 1.
    pub number: i64,
    /// Whether this version serves.
    pub serving: bool,
    /// Its manifest's version.
    pub version: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// Length of the component in bytes.
    pub size: u64,
    /// JSON array of the requested grants; `None` if the configuration decides.
    pub grants: Option<String>,
    /// When it was uploaded.
    pub uploaded_at: DateTime<Utc>,
}

/// A version to store.
#[derive(Clone, Debug)]
pub struct NewPluginVersion {
    /// Whose it is, and its name.
    pub key: PluginKey,
    /// Its manifest's version.
    pub version: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// Length of the component in bytes.
    pub size: u64,
    /// JSON array of the requested grants; `None` if the configuration decides.
    pub grants: Option<String>,
    /// When it was uploaded.
    pub uploaded_at: DateTime<Utc>,
}

/// Bounds of uploads, checked in the transaction that stores one.
#[derive(Clone, Copy, Debug)]
pub struct PluginBounds {
    /// Versions kept of each plugin, at least 1.
    pub kept_versions: u32,
    /// Most plugins of the project; `None`: any number.
    pub per_project: Option<u64>,
    /// Most plugins of all projects together.
    pub all_projects: u64,
}

/// What became of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedPlugin {
    /// It is stored and serves.
    Saved {
        /// Number of the version.
        number: i64,
        /// Whether there was a plugin of that name.
        replaced: bool,
    },
    /// The project has as many plugins as it may have.
    ProjectFull {
        /// The number of its plugins.
        count: u64,
    },
    /// All projects together have as many plugins as the instance allows.
    InstanceFull,
}

#[derive(sqlx_macros::FromRow)]
struct UploadRow {
    project_id: Option<i64>,
    tier: Option<String>,
    kind: String,
    name: String,
    number: i64,
    serving: i64,
    version: String,
    digest: String,
    size: i64,
    grants: Option<String>,
    uploaded_at: i64,
}

impl From<UploadRow> for UploadedPlugin {
    fn from(row: UploadRow) -> Self {
        Self {
            key: PluginKey {
                project: row.project_id.map(ProjectId),
                kind: row.kind,
                name: row.name,
            },
            tier: row.tier,
            number: row.number,
            serving: row.serving != 0,
            version: row.version,
            digest: row.digest,
            size: u64::try_from(row.size).unwrap_or_default(),
            grants: row.grants,
            uploaded_at: from_ms(row.uploaded_at),
        }
    }
}

per_database! {
    /// Counts a change, and locks all uploads: one transaction at a time changes them.
    pub(crate) async fn begin(conn: &mut Conn) -> Result<(), StoreError> {
        sql::settings::count_up(conn, VERSION, Topic::Plugins).await
    }

    /// The number of a project's plugins, and of all projects together.
    pub(crate) async fn counts(conn: &mut Conn, project: ProjectId) -> Result<(u64, u64), StoreError> {
        let (own, all): (i64, i64) = sqlx::query_as(
            "SELECT COUNT(CASE WHEN project_id = $1 THEN 1 END), COUNT(*)
             FROM plugins WHERE serving = 1 AND project_id IS NOT NULL",
        )
        .bind(project.get())
        .fetch_one(&mut *conn)
        .await?;
        let number = |count| u64::try_from(count).unwrap_or_default();
        Ok((number(own), number(all)))
    }

    /// Makes a version the one that serves; 0 for none.
    pub(crate) async fn serve(conn: &mut Conn, key: &PluginKey, number: i64) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE plugins SET serving = CASE WHEN number = $4 THEN 1 ELSE 0 END
             WHERE COALESCE(project_id, 0) = $1 AND kind = $2 AND name = $3",
        )
        .bind(key.owner())
        .bind(key.kind.as_str())
        .bind(key.name.as_str())
        .bind(number)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Whether a plugin has a version.
    pub(crate) async fn is_there(conn: &mut Conn, key: &PluginKey) -> Result<bool, StoreError> {
        let version: Option<i64> = sqlx::query_scalar(
            "SELECT number FROM plugins
             WHERE COALESCE(project_id, 0) = $1 AND kind = $2 AND name = $3 LIMIT 1",
        )
        .bind(key.owner())
        .bind(key.kind.as_str())
        .bind(key.name.as_str())
        .fetch_optional(&mut *conn)
        .await?;
        Ok(version.is_some())
    }

    /// All versions of a plugin, newest first.
    pub(crate) async fn versions(
        conn: &mut Conn,
        key: &PluginKey,
    ) -> Result<Vec<UploadedPlugin>, StoreError> {
        let rows: Vec<UploadRow> = sqlx::query_as(
            "SELECT project_id, NULL AS tier, kind, name, number, serving, version, digest, size,
                    grants, uploaded_at
             FROM plugins
             WHERE COALESCE(project_id, 0) = $1 AND kind = $2 AND name = $3
             ORDER BY number DESC",
        )
        .bind(key.owner())
        .bind(key.kind.as_str())
        .bind(key.name.as_str())
        .fetch_all(&mut *conn)
        .await?;
        Ok(rows.into_iter().map(UploadedPlugin::from).collect())
    }
}

impl Store {
    /// Number of changes of the uploads so far, and of tiers of projects.
    #[crate::boxed]
    pub async fn plugins_version(&self) -> Result<i64, StoreError> {
        let count = self.setting(VERSION).await?;
        Ok(count.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// The versions that serve, of the instance and of all projects.
    #[crate::boxed]
    pub async fn uploaded_plugins(&self) -> Result<Vec<UploadedPlugin>, StoreError> {
        let rows: Vec<UploadRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.project_id, projects.tier, p.kind, p.name, p.number, p.serving,
                        p.version, p.digest, p.size, p.grants, p.uploaded_at
                 FROM plugins p LEFT JOIN projects ON projects.id = p.project_id
                 WHERE p.serving = 1
                 ORDER BY COALESCE(p.project_id, 0), p.kind, p.name",
            )
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(UploadedPlugin::from).collect())
    }

    /// The versions that serve of one owner; `None`: the instance.
    #[crate::boxed]
    pub async fn plugins_of(
        &self,
        project: Option<ProjectId>,
    ) -> Result<Vec<UploadedPlugin>, StoreError> {
        let rows: Vec<UploadRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.project_id, projects.tier, p.kind, p.name, p.number, p.serving,
                        p.version, p.digest, p.size, p.grants, p.uploaded_at
                 FROM plugins p LEFT JOIN projects ON projects.id = p.project_id
                 WHERE p.serving = 1 AND COALESCE(p.project_id, 0) = $1
                 ORDER BY p.kind, p.name",
            )
            .bind(owner(project))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(UploadedPlugin::from).collect())
    }

    /// All kept versions of a plugin, newest first; none if there is no such plugin.
    #[crate::boxed]
    pub async fn plugin_versions(
        &self,
        key: &PluginKey,
    ) -> Result<Vec<UploadedPlugin>, StoreError> {
        let rows: Vec<UploadRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.project_id, projects.tier, p.kind, p.name, p.number, p.serving,
                        p.version, p.digest, p.size, p.grants, p.uploaded_at
                 FROM plugins p LEFT JOIN projects ON projects.id = p.project_id
                 WHERE COALESCE(p.project_id, 0) = $1 AND p.kind = $2 AND p.name = $3
                 ORDER BY p.number DESC",
            )
            .bind(key.owner())
            .bind(key.kind.as_str())
            .bind(key.name.as_str())
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(UploadedPlugin::from).collect())
    }

    /// The component of a version; `None` if it was deleted meanwhile.
    #[crate::boxed]
    pub async fn plugin_component(
        &self,
        upload: &UploadedPlugin,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let packed: Option<Vec<u8>> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT component FROM plugins
                 WHERE COALESCE(project_id, 0) = $1 AND kind = $2 AND name = $3 AND number = $4
                   AND digest = $5",
            )
            .bind(upload.key.owner())
            .bind(upload.key.kind.as_str())
            .bind(upload.key.name.as_str())
            .bind(upload.number)
            .bind(upload.digest.as_str())
            .fetch_optional(pool)
            .await?
        });
        let Some(packed) = packed else {
            return Ok(None);
        };
        let damaged = |error: String| {
            let PluginKey { kind, name, .. } = &upload.key;
            StoreError::Damaged(format!("plugin {kind} {name}: {error}"))
        };
        let size = usize::try_from(upload.size).unwrap_or(usize::MAX);
        tokio::task::spawn_blocking(move || zstd::bulk::decompress(&packed, size))
            .await
            .map_err(|error| damaged(error.to_string()))?
            .map(Some)
            .map_err(|error| damaged(error.to_string()))
    }

    /// Stores a version, which serves from now on, and removes the oldest ones beyond the bound. The
    /// component and the grants of the version that serves make no new version.
    pub async fn save_plugin(
        &self,
        new: &NewPluginVersion,
        component: impl AsRef<[u8]> + Send + 'static,
        bounds: PluginBounds,
    ) -> Result<SavedPlugin, StoreError> {
        let failed = |error: String| StoreError::Damaged(format!("compressing a plugin: {error}"));
        let packed = tokio::task::spawn_blocking(move || zstd::encode_all(component.as_ref(), 3))
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        let key = &new.key;
        transact!(self.db, tx => {
            sql::plugins::begin(tx).await?;
            let known = sql::plugins::versions(tx, key).await?;
            let serving = known.iter().find(|version| version.serving);
            if let Some(same) = serving
                && same.digest == new.digest
                && same.grants == new.grants
            {
                return Ok(SavedPlugin::Saved { number: same.number, replaced: true });
            }
            if let Some(project) = key.project
                && known.is_empty()
            {
                let (count, all) = sql::plugins::counts(tx, project).await?;
                if bounds.per_project.is_some_and(|most| count >= most) {
                    return Ok(SavedPlugin::ProjectFull { count });
                }
                if all >= bounds.all_projects {
                    return Ok(SavedPlugin::InstanceFull);
                }
            }
            let number = known.first().map_or(1, |newest| newest.number + 1);
            sql::plugins::serve(tx, key, 0).await?;
            sqlx::query(
                "INSERT INTO plugins (project_id, kind, name, number, serving, version, digest,
                                      size, grants, uploaded_at, component)
                 VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10)",
            )
            .bind(key.project.map(ProjectId::get))
            .bind(key.kind.as_str())
            .bind(key.name.as_str())
            .bind(number)
            .bind(new.version.as_str())
            .bind(new.digest.as_str())
            .bind(signed(new.size))
            .bind(new.grants.as_deref())
            .bind(to_ms(new.uploaded_at))
            .bind(packed.as_slice())
            .execute(&mut *tx)
            .await?;
            sqlx::query(
                "DELETE FROM plugins
                 WHERE COALESCE(project_id, 0) = $1 AND kind = $2 AND name = $3 AND number <= $4",
            )
            .bind(key.owner())
            .bind(key.kind.as_str())
            .bind(key.name.as_str())
            .bind(number - i64::from(bounds.kept_versions.max(1)))
            .execute(&mut *tx)
            .await?;
            Ok(SavedPlugin::Saved { number, replaced: !known.is_empty() })
        })
    }

    /// Makes a kept version the one that serves. `false` if it is not kept.
    #[crate::boxed]
    pub async fn serve_plugin_version(
        &self,
        key: &PluginKey,
        number: i64,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            sql::plugins::begin(tx).await?;
            let known = sql::plugins::versions(tx, key).await?;
            if !known.iter().any(|version| version.number == number) {
                return Ok(false);
            }
            sql::plugins::serve(tx, key, number).await?;
            Ok(true)
        })
    }

    /// Deletes a plugin with all its versions. Returns whether there was one.
    #[crate::boxed]
    pub async fn delete_plugin(&self, key: &PluginKey) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            sql::plugins::begin(tx).await?;
            let removed = sqlx::query(
                "DELETE FROM plugins
                 WHERE COALESCE(project_id, 0) = $1 AND kind = $2 AND name = $3",
            )
            .bind(key.owner())
            .bind(key.kind.as_str())
            .bind(key.name.as_str())
            .execute(&mut *tx)
            .await?
            .rows_affected();
            Ok(removed > 0)
        })
    }
}
