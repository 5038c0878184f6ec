//! Cache of machine code on disk, so that a restart does not compile again.
//!
//! The files of this folder are executed, so only the server's user may be able to write to it;
//! the cache refuses any other folder. Against accidents (full disk, partial write) every file
//! contains the SHA-256 of its contents.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use orbweaver_core::ids::ProjectId;
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::inspect::Digest;

/// A folder of compiled components, with checked permissions.
#[derive(Clone, Debug)]
pub(crate) struct CodeCache {
    dir: PathBuf,
    /// Most bytes of all files.
    max_bytes: u64,
}

/// Subfolder with one folder for each project that has plugins.
const PROJECTS: &str = "projects";

const CHECKSUM_BYTES: usize = 32;

impl CodeCache {
    /// Opens or creates the folder. Fails if another user could write to it.
    pub fn open(dir: &Path, max_bytes: u64) -> Result<Self, String> {
        if !dir.exists() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        let found = fs::symlink_metadata(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        if !found.is_dir() {
            return Err(format!("{}: not a folder", dir.display()));
        }
        only_ours(&found).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(Self {
            dir: dir.to_owned(),
            max_bytes,
        })
    }

    /// The folder of a project's code, below this one. Fails as [`open`](Self::open).
    pub fn of_project(&self, project: ProjectId, max_bytes: u64) -> Result<Self, String> {
        Self::open(&self.project_dir(project), max_bytes)
    }

    /// Removes a project's code.
    pub fn forget(&self, project: ProjectId) -> std::io::Result<()> {
        match fs::remove_dir_all(self.project_dir(project)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn project_dir(&self, project: ProjectId) -> PathBuf {
        self.dir.join(PROJECTS).join(project.get().to_string())
    }

    /// The compiled component, if it is cached, undamaged, and made by this engine.
    pub fn load(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Component> {
        let path = self.path(engine, digest);
        let code = Self::read(&path)?;
        note_use(&path);
        // SAFETY: `code` was written by `Component::serialize` (the checksum shows that it is
        // complete), in a file and a folder to which no other user can write. wasmtime checks
        // that it was made with this engine's version and settings.
        unsafe { Component::deserialize(engine, &code) }.ok()
    }

    /// Every cached file, with the digest of its component in lower-case hex.
    pub fn files(&self) -> std::io::Result<Vec<(String, PathBuf)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy());
            if let Some(name) = name
                && let Some(stem) = name.strip_suffix(".cwasm")
                && let Some((digest, _)) = stem.split_once('-')
            {
                files.push((digest.to_owned(), path.clone()));
            }
        }
        files.sort();
        Ok(files)
    }

    /// The serialized code of a cached file, if it is undamaged.
    pub fn read(path: &Path) -> Option<Vec<u8>> {
        let mut file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .ok()?;
        only_ours(&file.metadata().ok()?).ok()?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).ok()?;
        if bytes.len() < CHECKSUM_BYTES {
            return None;
        }
        let code = bytes.split_off(CHECKSUM_BYTES);
        if bytes != Sha256::digest(&code).as_slice() {
            tracing::warn!(file = %path.display(), "damaged compiled plugin ignored");
            return None;
        }
        Some(code)
    }

    /// Caches a compiled component.
    pub fn store(
        &self,
        engine: &wasmtime::Engine,
        digest: Digest,
        component: &Component,
    ) -> Result<(), String> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let code = component.serialize().map_err(|e| e.to_string())?;
        let partial = self.dir.join(format!(
            ".{}-{}.partial",
            std::process::id(),
            COUNTER.fetch_add(1, Ordering::Relaxed)
        ));
        let write = || -> std::io::Result<()> {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&partial)?;
            file.write_all(&Sha256::digest(&code))?;
            file.write_all(&code)?;
            file.sync_all()?;
            fs::rename(&partial, self.path(engine, digest))?;
            self.sweep(&self.path(engine, digest))
        };
        write().map_err(|e| {
            let _ = fs::remove_file(&partial);
            format!("{}: {e}", self.dir.display())
        })
    }

    /// Removes the files that were not used for the longest time, until the rest fits. `newest`
    /// stays.
    fn sweep(&self, newest: &Path) -> std::io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            // Another process may remove files at the same time.
            if path.extension().is_some_and(|end| end == "cwasm")
                && let Ok(found) = fs::symlink_metadata(&path)
            {
                files.push((found.modified()?, found.len(), path));
            }
        }
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, size, path) in files {
            if bytes <= self.max_bytes {
                break;
            }
            if path != newest && fs::remove_file(&path).is_ok() {
                bytes = bytes.saturating_sub(size);
            }
        }
        Ok(())
    }

    fn path(&self, engine: &wasmtime::Engine, digest: Digest) -> PathBuf {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.dir
            .join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

/// Marks a file as used now. Without the mark it is only removed earlier.
fn note_use(path: &Path) {
    #[expect(
        clippy::disallowed_methods,
        reason = "compared with the times of other files; no rule depends on it"
    )]
    let now = std::time::SystemTime::now();
    if let Ok(file) = fs::File::open(path) {
        let _ = file.set_modified(now);
    }
}

fn only_ours(found: &fs::Metadata) -> Result<(), String> {
    // SAFETY: geteuid takes nothing and cannot fail.
    let me = unsafe { libc::geteuid() };
    if found.uid() != me {
        return Err(format!("is owned by user {}, not by {me}", found.uid()));
    }
    if found.mode() & 0o022 != 0 {
        return Err("other users can write to it".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_used_longest_ago_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("compiled"), 2_500).unwrap();
        let file = |name: &str, age: u64| {
            let path = cache.dir.join(format!("{name}-0.cwasm"));
            fs::write(&path, [0; 1_000]).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            fs::File::open(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let (old, used, new) = (file("a", 30), file("b", 40), file("c", 10));
        note_use(&used);
        cache.sweep(&new).unwrap();
        assert!(!old.exists() && used.exists() && new.exists());
    }

    #[test]
    fn a_project_has_a_folder_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("compiled"), 1).unwrap();
        let own = cache.of_project(ProjectId(7), 1).unwrap();
        fs::write(own.dir.join("x-0.cwasm"), "x").unwrap();
        assert!(cache.files().unwrap().is_empty());
        cache.forget(ProjectId(7)).unwrap();
        cache.forget(ProjectId(7)).unwrap();
        assert!(!own.dir.exists());
    }
}
