//! Waits for changes of a project's sources.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Time without a further change after which a change counts as complete: editors write a file in
/// several steps.
const SETTLED: Duration = Duration::from_millis(150);

/// Folders of a project that its tools write.
const WRITTEN: [&str; 6] = [
    ".git",
    ".venv",
    "__pycache__",
    "build",
    "node_modules",
    "target",
];

/// Files and folders that tools write, by their ends.
const WRITTEN_FILES: [&str; 4] = [".expected.json", ".lock", "package-lock.json", "~"];

/// Notices changes of a folder's sources.
pub struct Watch {
    changes: Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// If the operating system cannot watch the folder.
    pub fn start(folder: &Path) -> Result<Self> {
        let (sender, changes) = channel();
        let root = folder.to_owned();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let Ok(event) = event else {
                    return;
                };
                let is_change = !matches!(event.kind, EventKind::Access(_));
                if is_change && event.paths.iter().any(|path| is_source(&root, path)) {
                    // Nobody listens any more once the watch is over.
                    let _ = sender.send(());
                }
            })?;
        watcher
            .watch(folder, RecursiveMode::Recursive)
            .with_context(|| format!("cannot watch {}", folder.display()))?;
        Ok(Self {
            changes,
            _watcher: watcher,
        })
    }

    /// Blocks until a source has changed and no other one changes any more.
    ///
    /// # Errors
    /// If watching has ended.
    pub fn changed(&self) -> Result<()> {
        if self.changes.recv().is_err() {
            bail!("watching has ended");
        }
        loop {
            match self.changes.recv_timeout(SETTLED) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => bail!("watching has ended"),
            }
        }
    }
}

/// Whether a path is one that an author edits.
fn is_source(root: &Path, path: &Path) -> bool {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let mut parts = inside.components().map(|part| part.as_os_str());
    let name = inside.file_name().unwrap_or_default().to_string_lossy();
    !parts.any(|part| WRITTEN.iter().any(|written| part == OsStr::new(written)))
        && !WRITTEN_FILES.iter().any(|end| name.ends_with(end))
        && !inside.starts_with("fixtures/web")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_write_is_no_source() {
        let root = Path::new("/plugin");
        for source in [
            "src/lib.rs",
            "plugin.toml",
            "Cargo.toml",
            "fixtures/first.case.json",
        ] {
            assert!(is_source(root, &root.join(source)), "{source}");
        }
        for written in [
            "target/debug/x",
            "build/a.wasm",
            "Cargo.lock",
            "fixtures/web/get-x.toml",
            "src/lib.rs~",
        ] {
            assert!(!is_source(root, &root.join(written)), "{written}");
        }
    }

    #[test]
    fn a_change_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let watch = Watch::start(&folder).unwrap();
        std::fs::write(folder.join("plugin.toml"), "name = \"x\"").unwrap();
        let (sender, noticed) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = sender.send(watch.changed().is_ok());
        });
        assert!(noticed.recv_timeout(Duration::from_secs(60)).unwrap());
    }
}
