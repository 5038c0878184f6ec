//! Uploaded plugins: stored in the database, so that every node serves them. They override
//! plugins of the plugin folder.
//!
//! The database is authoritative. Each node compares a counter every second and, if it changed,
//! updates its engine. If a node cannot load an upload, it logs the error, keeps serving the
//! previous plugin, and tries again only when the upload changes.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use orbweaver_engine::{Engine, Kind, LoadError, PluginInfo, Source};
use orbweaver_store::{Store, StoreError, UploadedPlugin};
use tokio::sync::Mutex;

use super::grants::UploadGrants;

/// The uploads that this node has loaded. The lock is held while they change.
#[derive(Debug, Default)]
pub struct Overlay(Mutex<LoadedUploads>);

#[derive(Debug, Default)]
struct LoadedUploads {
    version: i64,
    /// Digest and grants, by kind and name.
    uploads: BTreeMap<(Kind, String), (String, Option<String>)>,
}

/// Why an upload was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// It is not a valid plugin, or it needs permissions that it is not granted.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Result of an upload.
#[derive(Debug)]
pub struct Uploaded {
    /// The plugin as now served.
    pub plugin: PluginInfo,
    /// Whether it replaced an upload of the same kind and name.
    pub replaced: bool,
}

impl Overlay {
    /// Loads a component here and stores it for every node. It is in use when this returns; an
    /// error changes nothing.
    ///
    /// # Errors
    /// Why it was not accepted.
    #[crate::boxed]
    pub async fn upload(
        &self,
        store: &Store,
        engine: &Engine,
        now: DateTime<Utc>,
        component: bytes::Bytes,
        granted: &UploadGrants,
    ) -> Result<Uploaded, UploadError> {
        let mut known = self.0.lock().await;
        let plugin = engine
            .load_bytes(component.to_vec(), Source::Upload, granted.for_engine())
            .await?;
        let upload = UploadedPlugin {
            kind: plugin.kind.as_str().to_owned(),
            name: plugin.name.clone(),
            digest: plugin.digest.clone(),
            size: plugin.size,
            grants: granted.stored(),
            uploaded_at: now,
        };
        let id = (plugin.kind, plugin.name.clone());
        let saved = store.save_plugin(&upload, component).await;
        let replaced = match saved {
            Ok(replaced) => replaced,
            Err(error) => {
                // Return to the state of the database, which may be an earlier upload.
                known.uploads.remove(&id);
                engine.remove(plugin.kind, &plugin.name);
                known.version = -1;
                return Err(error.into());
            }
        };
        known.uploads.insert(id, (upload.digest, upload.grants));
        tracing::info!(plugin = plugin.name, kind = %plugin.kind, "plugin uploaded");
        Ok(Uploaded { plugin, replaced })
    }

    /// Removes an upload from every node; a plugin of the folder that it replaced is used
    /// again. False if there is no such upload.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn remove(
        &self,
        store: &Store,
        engine: &Engine,
        kind: Kind,
        name: &str,
    ) -> Result<bool, StoreError> {
        let mut known = self.0.lock().await;
        let removed = store.delete_plugin(kind.as_str(), name).await?;
        if removed {
            known.uploads.remove(&(kind, name.to_owned()));
            engine.remove(kind, name);
            tracing::info!(plugin = name, %kind, "uploaded plugin removed");
        }
        Ok(removed)
    }

    /// Updates the engine from the database.
    ///
    /// # Errors
    /// When the database fails; updates made until then stay.
    #[crate::boxed]
    pub async fn follow(&self, store: &Store, engine: &Engine) -> Result<(), StoreError> {
        let mut known = self.0.lock().await;
        let version = store.plugins_version().await?;
        if version == known.version {
            return Ok(());
        }
        let uploads = store.uploaded_plugins().await?;
        let gone: Vec<_> = known
            .uploads
            .keys()
            .filter(|(kind, name)| {
                let is_it =
                    |upload: &UploadedPlugin| upload.kind == kind.as_str() && upload.name == *name;
                !uploads.iter().any(is_it)
            })
            .cloned()
            .collect();
        for id in gone {
            engine.remove(id.0, &id.1);
            known.uploads.remove(&id);
        }
        for upload in uploads {
            let Some(kind) = kind(&upload.kind) else {
                tracing::warn!(
                    kind = upload.kind,
                    "an uploaded plugin of a kind unknown here"
                );
                continue;
            };
            let id = (kind, upload.name.clone());
            let state = (upload.digest.clone(), upload.grants.clone());
            if known.uploads.get(&id) == Some(&state) {
                continue;
            }
            // Deleted meanwhile; the next update handles it.
            let Some(component) = store.plugin_component(&upload).await? else {
                continue;
            };
            let granted = UploadGrants::from_store(upload.grants.as_deref());
            let loaded = engine
                .load_bytes(component, Source::Upload, granted.for_engine())
                .await;
            match loaded {
                Ok(_) => tracing::info!(plugin = upload.name, %kind, "uploaded plugin loaded"),
                Err(error) => tracing::error!(
                    plugin = upload.name, %kind, %error, "an uploaded plugin failed to load"
                ),
            }
            known.uploads.insert(id, state);
        }
        known.version = version;
        Ok(())
    }
}

/// Parses the name of a kind.
pub fn kind(word: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
}
