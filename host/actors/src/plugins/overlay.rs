//! Uploaded plugins: an overlay in the database over the plugin folder, so that every node
//! serves them.
//!
//! The database decides. Each node compares a counter every second and, where it has moved,
//! brings its engine to the list: a plugin that a node can't load is logged, keeps what that
//! node served before, and is not tried again until it changes.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use orbweaver_engine::{Engine, Kind, LoadError, PluginInfo, Source};
use orbweaver_store::{Store, StoreError, UploadedPlugin};
use tokio::sync::Mutex;

use super::grants::Granted;

/// What this node has taken over of the overlay. Whoever changes it holds the lock.
#[derive(Debug, Default)]
pub struct Overlay(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    version: i64,
    /// Digest and grants, by kind and name.
    uploads: BTreeMap<(Kind, String), (String, Option<String>)>,
}

/// A plugin that was not taken.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// It is none, or asks for what it is not granted.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of an upload.
#[derive(Debug)]
pub struct Uploaded {
    /// The plugin as it serves now.
    pub plugin: PluginInfo,
    /// There was an upload of its kind and name before.
    pub replaced: bool,
}

impl Overlay {
    /// Loads a component here and stores it for every node. It serves when this returns; an
    /// error leaves everything as it was.
    ///
    /// # Errors
    /// Why it was not taken.
    #[crate::boxed]
    pub async fn upload(
        &self,
        store: &Store,
        engine: &Engine,
        now: DateTime<Utc>,
        component: bytes::Bytes,
        granted: &Granted,
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
                // Back to what the database says, which may be an earlier upload.
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

    /// Removes an upload from every node; what it stood in front of serves again. False if
    /// there is none.
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

    /// Brings the engine to what the database says.
    ///
    /// # Errors
    /// When the database fails; what was taken over until then stays.
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
            // Gone again already: the next version is on its way.
            let Some(component) = store.plugin_component(&upload).await? else {
                continue;
            };
            let granted = Granted::from_store(upload.grants.as_deref());
            let loaded = engine
                .load_bytes(component, Source::Upload, granted.for_engine())
                .await;
            match loaded {
                Ok(_) => tracing::info!(plugin = upload.name, %kind, "uploaded plugin loaded"),
                Err(error) => tracing::error!(
                    plugin = upload.name, %kind, %error, "an uploaded plugin is not loaded"
                ),
            }
            known.uploads.insert(id, state);
        }
        known.version = version;
        Ok(())
    }
}

/// A kind by its word.
pub fn kind(word: &str) -> Option<Kind> {
    [Kind::Extractor, Kind::Actor, Kind::Fetcher]
        .into_iter()
        .find(|kind| kind.as_str() == word)
}
