//! The plugin folder: loaded at the start, then watched.
//!
//! A new or changed file is loaded beside the one that serves and takes its place only
//! when it has passed its self-test. Files are looked at by size, time and inode; one that
//! still changes is left alone until it has been still for a moment, so half-written files
//! are no failures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use notify::Watcher as _;

use crate::engine::{Engine, Inner, LoadReport};
use crate::error::LoadError;
use crate::load::Grants;
use crate::plugin::Source;

/// How long a file has to be still before it is read.
const STILL: Duration = Duration::from_millis(150);
/// How often to look where no notification comes: network and overlay file systems.
const POLL: Duration = Duration::from_secs(1);

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

/// The `.wasm` files of a folder; hidden ones are someone's unfinished work.
fn scan(dir: &Path) -> std::io::Result<BTreeMap<PathBuf, Fingerprint>> {
    use std::os::unix::fs::MetadataExt as _;

    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_none_or(|n| n.to_string_lossy().starts_with('.'));
        if hidden || path.extension().is_none_or(|e| e != "wasm") {
            continue;
        }
        // A file can vanish between the listing and this.
        let Ok(file) = std::fs::metadata(&path) else {
            continue;
        };
        if file.is_file() {
            let modified = file.modified().ok();
            found.insert(
                path,
                Fingerprint {
                    size: file.len(),
                    modified,
                    inode: file.ino(),
                },
            );
        }
    }
    Ok(found)
}

impl Engine {
    /// Loads every plugin of the folder; one that is refused does not keep the others
    /// from serving. Without a folder the report is empty.
    pub async fn load_dir(&self) -> LoadReport {
        let Some(dir) = self.plugin_dir().map(Path::to_owned) else {
            return LoadReport::default();
        };
        let found = match scan(&dir) {
            Ok(found) => found,
            Err(error) => {
                let error = LoadError::Unreadable(error.to_string());
                return LoadReport {
                    loaded: Vec::new(),
                    refused: vec![(dir, error)],
                };
            }
        };
        let inner = Arc::clone(&self.inner);
        let applied = self
            .inner
            .tasks
            .spawn(async move { inner.apply(found).await })
            .await;
        if let Err(error) = applied {
            let error = LoadError::Unreadable(error.to_string());
            return LoadReport {
                loaded: Vec::new(),
                refused: vec![(dir, error)],
            };
        }
        LoadReport {
            loaded: self.plugins(),
            refused: self.refused(),
        }
    }

    /// Watches the folder until the engine is dropped: changes take effect within two
    /// seconds, calls under way finish on what they began with.
    pub fn watch(&self) {
        let Some(dir) = self.plugin_dir().map(Path::to_owned) else {
            return;
        };
        let inner = Arc::downgrade(&self.inner);
        self.inner.tasks.handle().spawn(watch(inner, dir));
    }
}

async fn watch(engine: Weak<Inner>, dir: PathBuf) {
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
        inner.apply(still).await;
    }
}

/// Takes files that still move back to the state they were last loaded in.
fn settle(
    found: BTreeMap<PathBuf, Fingerprint>,
    seen: &BTreeMap<PathBuf, Fingerprint>,
    moving: &mut BTreeMap<PathBuf, (Fingerprint, Instant)>,
) -> BTreeMap<PathBuf, Fingerprint> {
    let now = Instant::now();
    moving.retain(|path, _| found.contains_key(path));
    let mut still = BTreeMap::new();
    for (path, current) in found {
        let last = seen.get(&path).copied();
        if last == Some(current) {
            moving.remove(&path);
            still.insert(path, current);
            continue;
        }
        match moving.get(&path) {
            Some((before, since)) if *before == current => {
                if now.duration_since(*since) >= STILL {
                    moving.remove(&path);
                    still.insert(path, current);
                    continue;
                }
            }
            _ => {
                moving.insert(path.clone(), (current, now));
            }
        }
        if let Some(last) = last {
            still.insert(path, last);
        }
    }
    still
}

impl Inner {
    /// Brings the registry to this state of the folder.
    async fn apply(&self, found: BTreeMap<PathBuf, Fingerprint>) {
        let (changed, gone) = {
            let mut folder = self.folder.lock();
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
            if self.change(|registry, roles| registry.remove_file(&path, roles)) {
                tracing::info!(file = %path.display(), "plugin removed");
            }
        }
        futures::future::join_all(changed.iter().map(|path| self.load_file(path))).await;
    }

    async fn load_file(&self, path: &Path) {
        let load = async {
            let bytes = self.loader.read(path.to_owned()).await?;
            self.load(bytes, Source::Folder(path.to_owned()), Grants::Configured)
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
                self.folder.lock().refused.remove(path);
                self.change(|registry, roles| registry.insert(plugin, roles));
            }
            Err(error) => {
                let serving = self.registry().of_file(path).is_some();
                tracing::warn!(
                    file = %path.display(),
                    "plugin refused{}: {error}",
                    if serving { ", the old one goes on serving" } else { "" }
                );
                let problem = error.to_string();
                self.folder.lock().refused.insert(path.to_owned(), error);
                self.change(|registry, _| registry.note(path, &problem));
            }
        }
    }
}
