//! Uploaded plugins: stored in the database, so that every node serves them. Those of the
//! instance override plugins of the plugin folder, those of a project override both for that
//! project alone.
//!
//! The database is authoritative. Each node compares a counter every second and, if it changed,
//! updates its engine, one plugin at a time and beside each other, so that a slow compilation
//! delays no other plugin. If a node cannot load an upload, it logs the error and keeps serving the
//! previous version, unless that one has more rights than are left to it. It tries again when the
//! upload changes, and by itself after a pause that doubles each time: the reason may be the
//! node's, such as a compilation that took too long beside other work, or the order in which
//! uploads that need each other arrived. The same holds if the database fails meanwhile, or the work
//! panics.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use futures::FutureExt as _;
use orbweaver_accounts::fair::{Busy, Slot};
use orbweaver_accounts::quota::QuotaError;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{Engine, Kind, LoadError, PluginInfo, ProjectPolicy, Source};
use orbweaver_store::{
    NewPluginVersion, PluginBounds, PluginKey, SavedPlugin, StoreError, UploadedPlugin,
};
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::Instant;

use super::grants::UploadGrants;
use super::known::{KnownUploads, Target, Todo, UNREAD};
use crate::context::Actors;

/// Owners whose plugins are loaded at the same time when a node follows changes.
const CONCURRENT_OWNERS: usize = 16;

/// The uploads that this node has loaded, or failed to load.
#[derive(Debug)]
pub struct Overlay {
    /// The counter of changes up to which this node has followed; -1: it has not looked yet.
    pub(super) followed: AtomicI64,
    pub(super) known: KnownUploads,
    /// Held while a plugin changes here.
    turns: Mutex<HashMap<PluginKey, Arc<AsyncMutex<()>>>>,
    pub(super) owners: Arc<Semaphore>,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            followed: AtomicI64::new(-1),
            known: KnownUploads::default(),
            turns: Mutex::default(),
            owners: Arc::new(Semaphore::new(CONCURRENT_OWNERS)),
        }
    }
}

/// Why an upload was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// It is not a valid plugin, or it needs permissions that it is not granted.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A bound of the tier or of the instance is reached.
    #[error("{0}")]
    Full(String),
    /// Too many changes of the project's plugins wait.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The version does not exist any more.
    #[error("the version is not kept any more")]
    Gone,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The work panicked.
    #[error("the plugin could not be changed: an internal error")]
    Panicked,
    /// The process is shutting down.
    #[error("the service is shutting down")]
    Stopped,
}

/// Result of an upload.
#[derive(Debug)]
pub struct Uploaded {
    /// The plugin as now served.
    pub plugin: PluginInfo,
    /// Number of its version, counted from 1.
    pub number: i64,
    /// Whether it replaced an upload of the same kind and name.
    pub replaced: bool,
}

/// A plugin to upload.
#[derive(Debug)]
pub struct Upload {
    /// Whose it is; `None`: the instance.
    pub project: Option<ProjectId>,
    /// The component.
    pub component: bytes::Bytes,
    /// Kind and name of its manifest.
    pub kind: Kind,
    /// See `kind`.
    pub name: String,
    /// The grants named with it.
    pub granted: UploadGrants,
    /// Kept until the work has ended, also when the caller is gone: it bounds how many components are in
    /// memory.
    pub turn: Option<Slot>,
}

impl Overlay {
    pub(super) async fn turn(&self, key: &PluginKey) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock();
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(key.clone()).or_default())
        };
        turn.lock_owned().await
    }

    /// Number of uploads whose serving version this node failed to load.
    pub fn failures(&self) -> usize {
        self.known.failures()
    }

    /// The uploads of the instance, or of a project, whose serving version this node failed to load, and why.
    pub fn problems(&self, owner: Option<ProjectId>) -> Vec<(PluginKey, String)> {
        self.known.problems(owner)
    }

    /// When the first of them is tried again; `None` without one.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.known.next_retry()
    }

    /// Waits for an update of a plugin. One that fails or panics counts as an upload that did not load.
    /// False if what served until now must not go on.
    async fn attempt(
        &self,
        key: &PluginKey,
        wanted: Option<Target>,
        update: impl Future<Output = Result<(), StoreError>>,
    ) -> bool {
        let (plugin, kind) = (&key.name, &key.kind);
        match AssertUnwindSafe(update).catch_unwind().await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => {
                tracing::warn!(plugin, kind, %error, "cannot update an uploaded plugin");
            }
            Err(_) => tracing::error!(plugin, kind, "the update of an uploaded plugin panicked"),
        }
        self.known.failed(key, wanted, None, Instant::now())
    }

    /// The plugins whose turn somebody has, or waits for.
    pub(super) fn changing(&self) -> HashSet<PluginKey> {
        let turns = self.turns.lock();
        let taken = turns.iter().filter(|(_, turn)| Arc::strong_count(turn) > 1);
        taken.map(|(key, _)| key.clone()).collect()
    }
}

/// Loads a component here and stores it for every node. It is in use when this returns; an error
/// changes nothing. Goes on when the caller does not wait any longer.
///
/// # Errors
/// Why it was not accepted.
#[crate::boxed]
pub async fn upload(actors: &Actors, upload: Upload) -> Result<Uploaded, UploadError> {
    let key = PluginKey {
        project: upload.project,
        kind: upload.kind.as_str().to_owned(),
        name: upload.name.clone(),
    };
    let actors = actors.clone();
    let done =
        tokio::spawn(async move { change_in_turn(&actors, &key, Change::Upload(&upload)).await });
    done.await.unwrap_or(Err(UploadError::Stopped))
}

/// Serves a kept version again, on every node. It is in use when this returns; an error changes
/// nothing. A project's waits for the turn that an upload has.
///
/// # Errors
/// Why it cannot be served.
#[crate::boxed]
pub async fn roll_back(actors: &Actors, version: UploadedPlugin) -> Result<Uploaded, UploadError> {
    let turn = match version.key.project {
        Some(project) => Some(actors.project_uploads.acquire(project).await?),
        None => None,
    };
    let actors = actors.clone();
    let done = tokio::spawn(async move {
        let _turn = turn;
        change_in_turn(&actors, &version.key, Change::Version(&version)).await
    });
    done.await.unwrap_or(Err(UploadError::Stopped))
}

enum Change<'a> {
    Upload(&'a Upload),
    Version(&'a UploadedPlugin),
}

async fn change_in_turn(
    actors: &Actors,
    key: &PluginKey,
    what: Change<'_>,
) -> Result<Uploaded, UploadError> {
    let _turn = actors.overlay.turn(key).await;
    let done = AssertUnwindSafe(change(actors, key, what)).catch_unwind();
    let done = done.await.unwrap_or(Err(UploadError::Panicked));
    if let Err(error) = &done {
        restore(actors, key, error).await;
    }
    done
}

async fn change(
    actors: &Actors,
    key: &PluginKey,
    change: Change<'_>,
) -> Result<Uploaded, UploadError> {
    let policy = match key.project {
        None => None,
        Some(project) => {
            let caps = actors.quota.caps(project).await;
            let caps = caps.map_err(|error| match error {
                QuotaError::Store(error) => UploadError::Store(error),
                other => UploadError::Full(other.to_string()),
            })?;
            Some(caps.plugins)
        }
    };
    let (component, granted) = match &change {
        Change::Upload(upload) => (upload.component.to_vec(), upload.granted.clone()),
        Change::Version(version) => {
            let component = actors.store.plugin_component(version).await?;
            let granted = UploadGrants::from_store(version.grants.as_deref());
            (component.ok_or(UploadError::Gone)?, granted)
        }
    };
    let allowed = policy.map(|caps| granted.policy(&caps));
    if let (Some(caps), Some(project), Change::Upload(_)) = (policy, key.project, &change) {
        // Before the work of compiling; the transaction that stores it checks again.
        let own = actors.store.plugins_of(Some(project)).await?;
        let is_new = !own.iter().any(|plugin| plugin.key == *key);
        if is_new && !caps.count.has_room(own.len() as u64) {
            return Err(full(own.len() as u64));
        }
    }
    let engine = &actors.pipeline.engine;
    let plugin = load(engine, key, component.into(), &granted, allowed.clone()).await?;
    let (number, replaced) = match change {
        Change::Upload(upload) => {
            let new = NewPluginVersion {
                key: key.clone(),
                version: plugin.version.clone(),
                digest: plugin.digest.clone(),
                size: plugin.size,
                grants: granted.stored(),
                uploaded_at: actors.clock.now(),
            };
            let bounds = PluginBounds {
                kept_versions: actors.plugin_limits.kept_versions,
                per_project: policy.and_then(|caps| caps.count.0),
                all_projects: actors.plugin_limits.all_projects,
            };
            let component = upload.component.clone();
            match actors.store.save_plugin(&new, component, bounds).await? {
                SavedPlugin::Saved { number, replaced } => (number, replaced),
                SavedPlugin::ProjectFull { count } => return Err(full(count)),
                SavedPlugin::InstanceFull => {
                    return Err(UploadError::Full(
                        "all projects together have as many plugins as this instance allows \
                         (setting plugins.max_project_plugins)"
                            .to_owned(),
                    ));
                }
            }
        }
        Change::Version(version) => {
            let number = version.number;
            if !actors.store.serve_plugin_version(key, number).await? {
                return Err(UploadError::Gone);
            }
            (number, true)
        }
    };
    let loaded = Target {
        number,
        digest: plugin.digest.clone(),
        grants: granted.stored(),
        policy: allowed,
    };
    actors.overlay.known.loaded(key, loaded);
    tracing::info!(
        plugin = key.name,
        kind = key.kind,
        number,
        "uploaded plugin serves"
    );
    Ok(Uploaded {
        plugin,
        number,
        replaced,
    })
}

fn full(count: u64) -> UploadError {
    UploadError::Full(format!(
        "the project has {count} plugins, as many as its tier allows (setting \
         tiers.NAME.plugins.count)"
    ))
}

/// Returns to the state of the database after a change that failed.
async fn restore(actors: &Actors, key: &PluginKey, error: &UploadError) {
    if matches!(error, UploadError::Load(_)) {
        // The engine still serves what it served.
        return;
    }
    actors.overlay.known.forget(key);
    settle(actors, key, None).await;
}

async fn load(
    engine: &Engine,
    key: &PluginKey,
    component: Arc<[u8]>,
    granted: &UploadGrants,
    policy: Option<ProjectPolicy>,
) -> Result<PluginInfo, LoadError> {
    match (key.project, policy) {
        (Some(project), policy) => {
            let policy = policy.unwrap_or_default();
            engine.load_for_project(component, project, policy).await
        }
        (None, _) => {
            let grants = granted.for_engine();
            engine.load_bytes(component, Source::Upload, grants).await
        }
    }
}

/// Ends an upload's service here, and forgets it.
pub(super) fn unload(actors: &Actors, key: &PluginKey) {
    let has_others = actors.overlay.known.forget(key);
    stop_serving(actors, key);
    if let Some(project) = key.project.filter(|_| !has_others) {
        actors.pipeline.engine.forget_code_of_project(project);
    }
}

/// Ends an upload's service here; what it replaced serves again.
fn stop_serving(actors: &Actors, key: &PluginKey) {
    let engine = &actors.pipeline.engine;
    let Some(kind) = kind(&key.kind) else { return };
    match key.project {
        None => engine.remove(kind, &key.name),
        Some(project) => engine.remove_for_project(project, kind, &key.name),
    };
}

/// Ends the service here of an upload that could not be loaded. What it replaced serves again if it is the
/// instance's; calls of a project's own plugin fail with the reason.
async fn refuse(actors: &Actors, key: &PluginKey, component: Option<Arc<[u8]>>, reason: &str) {
    let Some((project, kind)) = key.project.zip(kind(&key.kind)) else {
        return stop_serving(actors, key);
    };
    let (engine, plugin) = (&actors.pipeline.engine, (kind, key.name.as_str()));
    let refused = engine.refuse_for_project(project, plugin, component, reason);
    refused.await;
}

/// What should serve of an upload here; `None`: nothing, because its project may have no plugins.
pub(super) fn wanted(actors: &Actors, upload: &UploadedPlugin) -> Option<Target> {
    let policy = match upload.key.project {
        None => None,
        Some(_) => {
            let caps = actors.quota.tier(upload.tier.as_deref()?).plugins;
            if !caps.may_install() {
                return None;
            }
            Some(UploadGrants::from_store(upload.grants.as_deref()).policy(&caps))
        }
    };
    Some(Target {
        number: upload.number,
        digest: upload.digest.clone(),
        grants: upload.grants.clone(),
        policy,
    })
}

/// Brings one plugin up to date with the database, or notes when that is tried again. `wanted` is what
/// the caller knows of what should serve. The caller has the plugin's turn.
pub(super) async fn settle(actors: &Actors, key: &PluginKey, wanted: Option<Target>) {
    let overlay = &actors.overlay;
    if !overlay.attempt(key, wanted, update(actors, key)).await {
        refuse(actors, key, None, UNREAD).await;
    }
}

async fn update(actors: &Actors, key: &PluginKey) -> Result<(), StoreError> {
    let versions = actors.store.plugin_versions(key).await?;
    let serving = versions.into_iter().find(|version| version.serving);
    let target = serving.and_then(|version| Some((wanted(actors, &version)?, version)));
    let Some((target, version)) = target else {
        unload(actors, key);
        return Ok(());
    };
    if actors.overlay.known.todo(key, &target, Instant::now()) == Todo::Nothing {
        return Ok(());
    }
    let Some(component) = actors.store.plugin_component(&version).await? else {
        return Ok(());
    };
    let granted = UploadGrants::from_store(version.grants.as_deref());
    let engine = &actors.pipeline.engine;
    let component: Arc<[u8]> = component.into();
    let bytes = Arc::clone(&component);
    let loaded = load(engine, key, bytes, &granted, target.policy.clone()).await;
    let (plugin, kind) = (&key.name, &key.kind);
    match loaded {
        Ok(_) => {
            tracing::info!(plugin, kind, "uploaded plugin loaded");
            actors.overlay.known.loaded(key, target);
        }
        Err(error) => {
            tracing::error!(plugin, kind, %error, "an uploaded plugin failed to load");
            let (known, reason) = (&actors.overlay.known, error.to_string());
            if !known.failed(key, Some(target), Some(reason.clone()), Instant::now()) {
                refuse(actors, key, Some(component), &reason).await;
            }
        }
    }
    Ok(())
}

/// Parses the name of a kind.
pub fn kind(word: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_update_that_fails_or_panics_is_tried_again() {
        let key = PluginKey {
            project: None,
            kind: "extractor".to_owned(),
            name: "a".to_owned(),
        };
        let failed = async || Err(StoreError::Damaged("a row".to_owned()));
        let panicked = async || -> Result<(), StoreError> { panic!("of the test") };
        let overlay = Overlay::default();
        assert!(!overlay.attempt(&key, None, failed()).await);
        assert_eq!(overlay.failures(), 1);
        assert!(overlay.next_retry().is_some());
        overlay.known.forget(&key);
        assert_eq!(overlay.next_retry(), None);
        assert!(!overlay.attempt(&key, None, panicked()).await);
        assert_eq!(overlay.failures(), 1);
        assert!(overlay.next_retry().is_some());
        overlay.known.forget(&key);
        assert!(overlay.attempt(&key, None, async { Ok(()) }).await);
        assert_eq!(overlay.failures(), 0);
    }
}
