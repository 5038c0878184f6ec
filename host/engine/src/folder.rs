//! The plugins inside the program, and the plugin folder over them: loaded at the start; the
//! folder is then watched.
//!
//! A new or changed file is loaded beside the one that serves and takes its place only
//! when it has passed its self-test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use notify::Watcher as _;

use crate::error::LoadError;
use crate::folder_scan::{Fingerprint, STILL, scan, settle};
use crate::inner::Inner;
use crate::load::Grants;
use crate::plugin::{PluginInfo, Source};

/// How often to look where no notification comes: network and overlay file systems.
const POLL: Duration = Duration::from_secs(1);

/// Result of loading the program's own plugins and the plugin folder.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Plugins that serve now.
    pub loaded: Vec<PluginInfo>,
    /// Files refused, and why.
    pub refused: Vec<(PathBuf, LoadError)>,
}

/// Loads every plugin inside the program, then those of the folder, where there are any.
pub(crate) async fn load(engine: &Arc<Inner>) -> LoadReport {
    let embedded = Arc::clone(engine);
    let embedded = engine
        .tasks
        .spawn(async move { load_embedded(&embedded).await })
        .await
        .map_err(|error| (PathBuf::new(), LoadError::Unreadable(error.to_string())));
    let folder = match engine.config.plugin_dir.clone() {
        Some(dir) => load_folder(engine, &dir)
            .await
            .map_err(|error| (dir, LoadError::Unreadable(error))),
        None => Ok(()),
    };
    let refused = engine.folder.lock().refused.clone();
    let unreadable = [embedded.err(), folder.err()];
    LoadReport {
        loaded: engine.registry().infos(),
        refused: unreadable.into_iter().flatten().chain(refused).collect(),
    }
}

async fn load_folder(engine: &Arc<Inner>, dir: &Path) -> Result<(), String> {
    let found = scan(dir).map_err(|error| error.to_string())?;
    let inner = Arc::clone(engine);
    let applied = engine
        .tasks
        .spawn(async move { apply(&inner, found).await });
    applied.await.map_err(|error| error.to_string())
}

/// Loads the plugins inside the program, all at once.
async fn load_embedded(inner: &Inner) {
    let names: Vec<String> = inner.loader.embedded().map(str::to_owned).collect();
    let loads = names.iter().map(|name| load_embedded_file(inner, name));
    futures::future::join_all(loads).await;
}

/// Loads one plugin inside the program; a refusal is noted.
async fn load_embedded_file(inner: &Inner, name: &str) {
    let load = async {
        let bytes = inner.loader.embedded_component(name)?;
        let grants = Grants::Configured;
        inner.load(bytes, Source::Embedded, grants).await
    };
    match load.await {
        Ok(plugin) => inner.change(|registry, roles| registry.insert(plugin, roles)),
        Err(error) => {
            tracing::warn!(file = name, "plugin inside the program refused: {error}");
            let mut folder = inner.folder.lock();
            folder.refused.insert(PathBuf::from(name), error);
        }
    }
}

/// Watches the folder, if there is one, until the engine is dropped.
pub(crate) fn watch(engine: &Arc<Inner>) {
    let Some(dir) = engine.config.plugin_dir.clone() else {
        return;
    };
    let watched = Arc::downgrade(engine);
    engine.tasks.handle().spawn(watch_folder(watched, dir));
}

async fn watch_folder(engine: Weak<Inner>, dir: PathBuf) {
    let events = Arc::new(tokio::sync::Notify::new());
    let wake = Arc::clone(&events);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Looking at the folder is an event, too: answering it would never end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            wake.notify_one();
        }
    })
    .and_then(|mut watcher| {
        watcher.watch(&dir, notify::RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    if let Err(error) = &watcher {
        tracing::info!(dir = %dir.display(), "no notifications, looking every second: {error}");
    }
    let mut moving: BTreeMap<PathBuf, (Fingerprint, Instant)> = BTreeMap::new();
    loop {
        let pause = if moving.is_empty() { POLL } else { STILL };
        // Either way the folder is looked at.
        let _ = tokio::time::timeout(pause, events.notified()).await;
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let Ok(found) = scan(&dir) else { continue };
        let still = settle(found, &inner.folder.lock().seen, &mut moving);
        apply(&inner, still).await;
    }
}

/// Brings the registry to this state of the folder.
async fn apply(inner: &Inner, found: BTreeMap<PathBuf, Fingerprint>) {
    let (changed, gone) = {
        let mut folder = inner.folder.lock();
        let changed: Vec<PathBuf> = found
            .iter()
            .filter(|(path, print)| folder.seen.get(*path) != Some(*print))
            .map(|(path, _)| path.clone())
            .collect();
        let gone: Vec<PathBuf> = folder
            .seen
            .keys()
            .filter(|path| !found.contains_key(*path))
            .cloned()
            .collect();
        for path in &gone {
            folder.refused.remove(path);
        }
        folder.seen = found;
        (changed, gone)
    };
    for path in gone {
        if inner.change(|registry, roles| registry.remove_file(&path, roles)) {
            tracing::info!(file = %path.display(), "plugin removed");
        }
    }
    futures::future::join_all(changed.iter().map(|path| load_file(inner, path))).await;
}

/// Loads one file; a refusal is noted and the old plugin goes on serving.
async fn load_file(inner: &Inner, path: &Path) {
    let load = async {
        let bytes = inner.loader.read(path.to_owned()).await?;
        inner
            .load(bytes, Source::Folder(path.to_owned()), Grants::Configured)
            .await
    };
    match load.await {
        Ok(plugin) => {
            tracing::info!(
                plugin = &*plugin.label,
                plugin.version = plugin.manifest.version,
                plugin.digest = %plugin.digest,
                "plugin loaded"
            );
            inner.folder.lock().refused.remove(path);
            inner.change(|registry, roles| registry.insert(plugin, roles));
        }
        Err(error) => {
            let serving = inner.registry().of_file(path).is_some();
            tracing::warn!(
                file = %path.display(),
                "plugin refused{}: {error}",
                if serving { ", the old one goes on serving" } else { "" }
            );
            let problem = error.to_string();
            inner.folder.lock().refused.insert(path.to_owned(), error);
            inner.change(|registry, _| registry.note(path, &problem));
        }
    }
}
