//! The plugin folder: loaded at start, then watched.
//!
//! A new or changed file is loaded while the old plugin serves, and replaces it only after it
//! passed its self-test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use notify::Watcher as _;

use crate::error::LoadError;
use crate::folder_scan::{Fingerprint, STILL, scan, settle};
use crate::inner::Inner;
use crate::kind::Kind;
use crate::load::Grants;
use crate::plugin::{PluginInfo, Source};

/// Polling interval where no notifications arrive: network and overlay file systems.
const POLL: Duration = Duration::from_secs(1);

/// Maximum number of files loaded at the same time; fewer of them are compiled at once.
const AT_ONCE: usize = 4;
/// Files of at least this many bytes are loaded after all others.
const LARGE_BYTES: u64 = 2 << 20;

/// Result of loading the plugin folder.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Plugins in service.
    pub loaded: Vec<PluginInfo>,
    /// Files that failed to load, and why.
    pub refused: Vec<(PathBuf, LoadError)>,
}

/// Loads every plugin of the folder, if one is configured.
pub(crate) async fn load(engine: &Arc<Inner>) -> LoadReport {
    let Some(dir) = engine.config.plugin_dir.clone() else {
        return LoadReport::default();
    };
    let unreadable = |dir: PathBuf, error: String| LoadReport {
        loaded: Vec::new(),
        refused: vec![(dir, LoadError::Unreadable(error))],
    };
    let found = match scan(&dir) {
        Ok(found) => found,
        Err(error) => return unreadable(dir, error.to_string()),
    };
    let inner = Arc::clone(engine);
    let applied = engine
        .tasks
        .spawn(async move { apply(&inner, found).await })
        .await;
    if let Err(error) = applied {
        return unreadable(dir, error.to_string());
    }
    let refused = engine.folder.lock().refused.clone();
    LoadReport {
        loaded: engine.registry().infos(),
        refused: refused.into_iter().collect(),
    }
}

/// Loads the folder in the background, then watches it. Meanwhile requests wait for the plugins
/// that they need ([`Inner::arrival`]).
pub(crate) fn load_behind(engine: &Arc<Inner>) {
    let Some(dir) = engine.config.plugin_dir.clone() else {
        return;
    };
    let found = match scan(&dir) {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(dir = %dir.display(), "the plugin folder cannot be read: {error}");
            return watch(engine);
        }
    };
    // Listed before the first request arrives.
    let changed = changes(engine, found);
    engine.coming.add(changed);
    let inner = Arc::clone(engine);
    engine.tasks.handle().spawn(async move {
        load_coming(&inner).await;
        tracing::info!(
            plugins = inner.registry().infos().len(),
            refused = inner.folder.lock().refused.len(),
            "plugins are loaded"
        );
        watch(&inner);
    });
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
        // Reading the folder is also an event; reacting to it would never end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            wake.notify_one();
        }
    })
    .and_then(|mut watcher| {
        watcher.watch(&dir, notify::RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    if let Err(error) = &watcher {
        tracing::info!(dir = %dir.display(), "no notifications, polling every second: {error}");
    }
    let mut moving: BTreeMap<PathBuf, (Fingerprint, Instant)> = BTreeMap::new();
    loop {
        let pause = if moving.is_empty() { POLL } else { STILL };
        // The folder is checked in both cases.
        let _ = tokio::time::timeout(pause, events.notified()).await;
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let Ok(found) = scan(&dir) else { continue };
        let still = settle(found, &inner.folder.lock().seen, &mut moving);
        apply(&inner, still).await;
    }
}

/// Updates the registry to this state of the folder.
async fn apply(inner: &Inner, found: BTreeMap<PathBuf, Fingerprint>) {
    let changed = changes(inner, found);
    inner.coming.add(changed);
    load_coming(inner).await;
}

/// Records this state of the folder and removes the plugins of missing files; returns the files
/// to load, in their order.
fn changes(inner: &Inner, mut found: BTreeMap<PathBuf, Fingerprint>) -> Vec<PathBuf> {
    if let Some(only) = &inner.config.only_files {
        found.retain(|path, _| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| only.iter().any(|known| *known == name))
        });
    }
    let (changed, gone) = {
        let mut folder = inner.folder.lock();
        let mut changed: Vec<(PathBuf, u64)> = found
            .iter()
            .filter(|(path, print)| folder.seen.get(*path) != Some(*print))
            .map(|(path, print)| (path.clone(), print.size))
            .collect();
        changed.sort_by_key(|(path, size)| rank(path, *size));
        let changed: Vec<PathBuf> = changed.into_iter().map(|(path, _)| path).collect();
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
    changed
}

/// Loads all waiting files, several at the same time.
async fn load_coming(inner: &Inner) {
    let worker = || async {
        while let Some(path) = inner.coming.next() {
            load_file(inner, &path).await;
            inner.arrived(&path);
        }
    };
    futures::future::join_all((0..AT_ONCE).map(|_| worker())).await;
}

/// The order in which files are loaded: interpreters, which take longest, are last; before them
/// extractors, which every page needs, then hooks, actors and fetchers.
fn rank(path: &Path, size: u64) -> (bool, usize) {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let kinds = Kind::ALL;
    let kind = kinds.iter().position(|kind| {
        name.as_ref()
            .is_some_and(|name| name.starts_with(kind.file_prefix()))
    });
    (size >= LARGE_BYTES, kind.unwrap_or(kinds.len()))
}

/// Loads one file. If it fails, the error is recorded and the old plugin keeps serving.
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
            for cut in &plugin.cut {
                tracing::warn!(plugin = &*plugin.label, "limits.{cut}");
            }
            inner.folder.lock().refused.remove(path);
            inner.change(|registry, roles| registry.insert(plugin, roles));
        }
        Err(error) => {
            let serving = inner.registry().of_file(path).is_some();
            tracing::warn!(
                file = %path.display(),
                "plugin refused{}: {error}",
                if serving { ", the old one keeps serving" } else { "" }
            );
            let problem = error.to_string();
            inner.folder.lock().refused.insert(path.to_owned(), error);
            inner.change(|registry, _| registry.note(path, &problem));
        }
    }
}
