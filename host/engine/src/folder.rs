//! The plugins inside the program and those of the plugin folder: loaded at start; the folder is
//! then watched.
//!
//! A new or changed file is loaded while the old plugin serves, and replaces it only after it
//! passed its self-test. A file that was refused for a reason that may pass is tried again after a
//! pause, which doubles.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use notify::Watcher as _;

use crate::bundle::Bundle;
use crate::compile::LARGE_COMPONENT_BYTES;
use crate::error::LoadError;
use crate::folder_scan::{Fingerprint, STILL, scan, settle};
use crate::inner::Inner;
use crate::kind::Kind;
use crate::load::{Grants, file_name};
use crate::pending::PluginFile;
use crate::plugin::{Plugin, PluginInfo, Source};

/// Polling interval where no notifications arrive: network and overlay file systems.
const POLL: Duration = Duration::from_secs(1);

/// Maximum number of files loaded at the same time: as many as are compiled at once. Each takes some
/// times its size of memory meanwhile.
const AT_ONCE: usize = 2;
/// Files of at least this many bytes are loaded after all others.
const LARGE_BYTES: u64 = LARGE_COMPONENT_BYTES as u64;

/// Result of loading the plugins inside the program and those of the folder.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Plugins in service.
    pub loaded: Vec<PluginInfo>,
    /// Files that failed to load, and why: paths in the folder, and bare file names for plugins
    /// inside the program.
    pub refused: Vec<(PathBuf, LoadError)>,
}

/// Loads the plugins inside the program and those of the folder.
pub(crate) async fn load(engine: &Arc<Inner>) -> LoadReport {
    let unreadable = begin(engine)
        .map_err(|(dir, error)| (dir, LoadError::Unreadable(error.to_string())))
        .err();
    let loaded = Arc::downgrade(engine);
    let load = engine
        .tasks
        .spawn(async move { load_coming(&loaded).await });
    let failed = load.await.map_err(|error| {
        let dir = engine.config.plugin_dir.clone().unwrap_or_default();
        (dir, LoadError::Unreadable(error.to_string()))
    });
    warn_of_roles(engine);
    let refused = engine.folder.lock().refused.clone();
    LoadReport {
        loaded: engine.registry().infos(None),
        refused: unreadable
            .into_iter()
            .chain(failed.err())
            .chain(refused)
            .collect(),
    }
}

/// Loads the plugins inside the program and those of the folder in the background, then watches
/// the folder. Meanwhile requests wait for the plugins that they need ([`Inner::arrival`]).
pub(crate) fn load_behind(engine: &Arc<Inner>) {
    // Listed before the first request arrives.
    if let Err((dir, error)) = begin(engine) {
        tracing::error!(dir = %dir.display(), "the plugin folder cannot be read: {error}");
    }
    let loaded = Arc::downgrade(engine);
    engine.tasks.handle().spawn(async move {
        load_coming(&loaded).await;
        let Some(inner) = loaded.upgrade() else {
            return;
        };
        warn_of_roles(&inner);
        tracing::info!(
            plugins = inner.registry().infos(None).len(),
            refused = inner.folder.lock().refused.len(),
            "plugins are loaded"
        );
        watch(&inner);
    });
}

/// Lists the plugins to load: first those inside the program, which load fastest because they
/// are compiled, then those of the folder. An error is the folder's, with its path.
fn begin(inner: &Inner) -> Result<(), (PathBuf, io::Error)> {
    let embedded = inner
        .loader
        .bundle()
        .into_iter()
        .flat_map(Bundle::components);
    let mut embedded: Vec<(PluginFile, u64)> = embedded
        .map(|(name, size)| (PluginFile::Embedded(name.to_owned()), size))
        .filter(|(file, _)| is_needed(inner, file))
        .collect();
    embedded.sort_by_key(|(file, size)| rank(file, *size));
    inner
        .pending
        .add(embedded.into_iter().map(|(file, _)| file));
    if let Some(dir) = &inner.config.plugin_dir {
        let found = scan(dir).map_err(|error| (dir.clone(), error))?;
        inner.pending.add(changes(inner, found));
    }
    Ok(())
}

/// Whether the configuration asks for this file: for all, or for some. Those that serve a role unless the plugin
/// that the configuration names for it does are among them.
fn is_needed(inner: &Inner, file: &PluginFile) -> bool {
    let Some(only) = &inner.config.only_files else {
        return true;
    };
    let is_asked = |file: &str| only.iter().any(|asked| asked == file);
    let name = file.name();
    let mut roles = inner.config.roles.iter();
    is_asked(&name)
        || roles.any(|(role, named)| {
            file_name(Kind::Extractor, role) == name && is_asked(&file_name(Kind::Extractor, named))
        })
}

/// Warns of each role whose configured plugin was not among the files.
fn warn_of_roles(inner: &Inner) {
    let registry = inner.registry();
    for (role, named) in &inner.config.roles {
        let configured = PluginFile::Embedded(file_name(Kind::Extractor, named));
        let plugin = registry.get(None, Kind::Extractor, named);
        let lists = |plugin: &Arc<Plugin>| plugin.manifest.roles.contains(role);
        if plugin.is_some_and(lists) || !is_needed(inner, &configured) {
            continue;
        }
        let why = match plugin {
            Some(_) => "does not list this role",
            None => "is not loaded",
        };
        let serving = registry.role(None, role);
        let serving = serving.map_or("no extractor".to_owned(), |(plugin, _)| {
            format!("`{}`", plugin.name())
        });
        tracing::warn!(
            "plugins.roles.{role} names the extractor `{named}`, which {why}; unless it is uploaded, \
             {serving} serves the role"
        );
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
        inner.pending.add(changes(&inner, still));
        drop(inner);
        load_coming(&engine).await;
    }
}

/// Records this state of the folder and removes the plugins of missing files; returns the files
/// to load, in their order: new and changed ones, and those to try again.
fn changes(inner: &Inner, found: BTreeMap<PathBuf, Fingerprint>) -> Vec<PluginFile> {
    let (changed, gone) = {
        let mut folder = inner.folder.lock();
        let folder = &mut *folder;
        let now = Instant::now();
        let mut is_to_load = |path: &Path, print: &Fingerprint| {
            if folder.seen.get(path) == Some(print) {
                return folder.retries.is_due(path, now);
            }
            folder.retries.forget(path);
            true
        };
        let mut changed: Vec<(PluginFile, u64)> = found
            .iter()
            .filter(|(path, print)| is_to_load(path, print))
            .map(|(path, print)| (PluginFile::Folder(path.clone()), print.size))
            .filter(|(file, _)| is_needed(inner, file))
            .collect();
        changed.sort_by_key(|(file, size)| rank(file, *size));
        let changed = changed.into_iter().map(|(file, _)| file).collect();
        let gone: Vec<PathBuf> = folder
            .seen
            .keys()
            .filter(|path| !found.contains_key(*path))
            .cloned()
            .collect();
        for path in &gone {
            folder.refused.remove(path);
            folder.retries.forget(path);
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

/// Loads all waiting plugins, several at the same time. Ends after the file at hand if the engine
/// is dropped meanwhile: it reserves much address space until nothing holds it.
async fn load_coming(engine: &Weak<Inner>) {
    let worker = || async {
        while let Some(inner) = engine.upgrade()
            && let Some(file) = inner.pending.next()
        {
            load_file(&inner, &file).await;
            inner.arrived(&file);
        }
    };
    futures::future::join_all((0..AT_ONCE).map(|_| worker())).await;
}

/// The order in which files are loaded: interpreters, which take longest, are last; before them
/// extractors, which every page needs, then hooks, actors and fetchers.
fn rank(file: &PluginFile, size: u64) -> (bool, usize) {
    let name = file.name();
    let kinds = Kind::ALL;
    let kind = kinds
        .iter()
        .position(|kind| name.starts_with(kind.file_prefix()));
    (size >= LARGE_BYTES, kind.unwrap_or(kinds.len()))
}

/// Loads one file. If it fails, the error is recorded and the old plugin keeps serving.
async fn load_file(inner: &Inner, file: &PluginFile) {
    let path = file.path();
    let loaded = load_plugin(inner, file).await;
    let mut may_pass = loaded.as_ref().is_err_and(LoadError::may_pass);
    let loaded = loaded.and_then(|plugin| {
        let served = inner.serve(Arc::clone(&plugin));
        // The plugins that it needs, and that need it, may be replaced.
        may_pass = served.is_err();
        served.map(|()| plugin)
    });
    match loaded {
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
            warn_of_upload(inner, plugin.kind(), plugin.name());
            let mut folder = inner.folder.lock();
            folder.refused.remove(path);
            folder.retries.forget(path);
        }
        Err(error) => {
            let serving = inner.registry().of_file(path).is_some();
            tracing::warn!(
                file = %path.display(),
                "plugin refused{}: {error}",
                if serving { ", the old one keeps serving" } else { "" }
            );
            let problem = error.to_string();
            {
                let mut folder = inner.folder.lock();
                folder.refused.insert(path.to_owned(), error);
                match may_pass {
                    true => folder.retries.failed(path, Instant::now()),
                    false => folder.retries.forget(path),
                }
            }
            inner.change(|registry, _| registry.note(path, &problem));
        }
    }
}

/// Warns if an upload of this name serves in place of a plugin of the folder. Asked when one of both is loaded.
pub(crate) fn warn_of_upload(inner: &Inner, kind: Kind, name: &str) {
    let registry = inner.registry();
    if let Some((upload, hidden)) = registry.hidden_by_upload(kind, name) {
        tracing::warn!(
            plugin = &*upload.label,
            plugin.version = upload.manifest.version,
            file.version = hidden.manifest.version,
            "the upload of this name serves, and not the file of the plugin folder; \
             DELETE /v1/plugins/{name} ends that"
        );
    }
}

async fn load_plugin(inner: &Inner, file: &PluginFile) -> Result<Arc<Plugin>, LoadError> {
    match file {
        PluginFile::Folder(path) => {
            let bytes = inner.loader.read(path.clone()).await?;
            let source = Source::Folder(path.clone());
            inner.load(bytes, source, Grants::Configured).await
        }
        PluginFile::Embedded(name) => {
            let bytes = inner.loader.read_embedded(name.clone()).await?;
            let source = Source::Embedded;
            let plugin = inner.load(bytes, source, Grants::Configured).await?;
            let expected = file_name(plugin.kind(), plugin.name());
            if expected != *name {
                let what = format!("the program contains {expected} under the name {name}");
                return Err(LoadError::FileName(what).cleaned());
            }
            Ok(plugin)
        }
    }
}
