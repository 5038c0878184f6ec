//! Uploaded plugins.

use chrono::{DateTime, Utc};

use crate::db::{read, signed, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Name of the setting that counts changes, so that nodes need not compare the list.
const VERSION: &str = "plugins_version";

/// An uploaded plugin without its component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedPlugin {
    /// `extractor`, `actor` or `fetcher`.
    pub kind: String,
    /// Unique within its kind.
    pub name: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// Length of the component in bytes.
    pub size: u64,
    /// JSON array of the requested grants; `None` if the configuration decides.
    pub grants: Option<String>,
    /// When it was uploaded.
    pub uploaded_at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
struct UploadRow {
    kind: String,
    name: String,
    digest: String,
    size: i64,
    grants: Option<String>,
    uploaded_at: i64,
}

impl Store {
    /// Number of changes of the uploads so far.
    #[crate::boxed]
    pub async fn plugins_version(&self) -> Result<i64, StoreError> {
        let count = self.setting(VERSION).await?;
        Ok(count.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// All uploads, by kind and name.
    #[crate::boxed]
    pub async fn uploaded_plugins(&self) -> Result<Vec<UploadedPlugin>, StoreError> {
        let rows: Vec<UploadRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT kind, name, digest, size, grants, uploaded_at FROM plugins
                 ORDER BY kind, name",
            )
            .fetch_all(pool)
            .await?
        });
        let upload = |row: UploadRow| UploadedPlugin {
            kind: row.kind,
            name: row.name,
            digest: row.digest,
            size: u64::try_from(row.size).unwrap_or_default(),
            grants: row.grants,
            uploaded_at: from_ms(row.uploaded_at),
        };
        Ok(rows.into_iter().map(upload).collect())
    }

    /// The component of an upload; `None` if it was changed or deleted meanwhile.
    #[crate::boxed]
    pub async fn plugin_component(
        &self,
        upload: &UploadedPlugin,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let packed: Option<Vec<u8>> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT component FROM plugins WHERE kind = $1 AND name = $2 AND digest = $3",
            )
            .bind(upload.kind.as_str())
            .bind(upload.name.as_str())
            .bind(upload.digest.as_str())
            .fetch_optional(pool)
            .await?
        });
        let Some(packed) = packed else {
            return Ok(None);
        };
        let damaged = |error: String| {
            StoreError::Damaged(format!("plugin {} {}: {error}", upload.kind, upload.name))
        };
        let size = usize::try_from(upload.size).unwrap_or(usize::MAX);
        tokio::task::spawn_blocking(move || zstd::bulk::decompress(&packed, size))
            .await
            .map_err(|error| damaged(error.to_string()))?
            .map(Some)
            .map_err(|error| damaged(error.to_string()))
    }

    /// Stores an upload, replacing one of its kind and name. Returns whether there was one.
    pub async fn save_plugin(
        &self,
        upload: &UploadedPlugin,
        component: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<bool, StoreError> {
        let failed = |error: String| StoreError::Damaged(format!("compressing a plugin: {error}"));
        let packed = tokio::task::spawn_blocking(move || zstd::encode_all(component.as_ref(), 3))
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        transact!(self.db, tx => {
            let replaced = sqlx::query("DELETE FROM plugins WHERE kind = $1 AND name = $2")
                .bind(upload.kind.as_str())
                .bind(upload.name.as_str())
                .execute(&mut *tx)
                .await?
                .rows_affected();
            sqlx::query(
                "INSERT INTO plugins (kind, name, digest, size, grants, uploaded_at, component)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(upload.kind.as_str())
            .bind(upload.name.as_str())
            .bind(upload.digest.as_str())
            .bind(signed(upload.size))
            .bind(upload.grants.as_deref())
            .bind(to_ms(upload.uploaded_at))
            .bind(packed.as_slice())
            .execute(&mut *tx)
            .await?;
            sql::settings::count_up(tx, VERSION).await?;
            Ok(replaced > 0)
        })
    }

    /// Deletes an upload. Returns whether there was one.
    #[crate::boxed]
    pub async fn delete_plugin(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let removed = sqlx::query("DELETE FROM plugins WHERE kind = $1 AND name = $2")
                .bind(kind)
                .bind(name)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            if removed > 0 {
                sql::settings::count_up(tx, VERSION).await?;
            }
            Ok(removed > 0)
        })
    }
}
