//! Cache of machine code on disk, so that a restart does not compile again.
//!
//! The files of this folder are executed, so only the server's user may be able to write to it;
//! the cache refuses any other folder. Against accidents (full disk, partial write) every file
//! ends with the SHA-256 of what is before it.
//!
//! Code is mapped from its file, so that memory holds only the parts that run.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
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
/// Version of the files' format: programs that write another one may share the folder.
const FORMAT: u8 = 2;
/// Bytes of a file that are read at a time to check it.
const CHUNK: usize = 64 << 10;

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
        if !is_undamaged(&path)? {
            return None;
        }
        note_use(&path);
        // SAFETY: the code was written by `Component::serialize` (the checksum shows that it is
        // complete), in a file and a folder to which no other user can write. This program never
        // changes such a file: it only replaces or removes it, which leaves what is mapped. wasmtime checks
        // that the code was made with this engine's version and settings.
        let mapped = unsafe { Component::deserialize_file(engine, &path) };
        mapped.ok().or_else(|| {
            // A file system may forbid to run what is mapped from it (`noexec`).
            let code = Self::read(&path)?;
            // SAFETY: as above; these bytes are a copy.
            unsafe { Component::deserialize(engine, &code) }.ok()
        })
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
        let (mut file, _) = open(path)?;
        let mut code = Vec::new();
        file.read_to_end(&mut code).ok()?;
        let checksum = code.split_off(code.len().checked_sub(CHECKSUM_BYTES)?);
        (checksum == Sha256::digest(&code).as_slice()).then_some(code)
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
            file.write_all(&code)?;
            file.write_all(&Sha256::digest(&code))?;
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
        FORMAT.hash(&mut hasher);
        self.dir
            .join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

/// Opens a cached file, unless another user could have written it; with its size in bytes.
fn open(path: &Path) -> Option<(fs::File, u64)> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .ok()?;
    let found = file.metadata().ok()?;
    only_ours(&found).ok()?;
    Some((file, found.len()))
}

/// Whether a cached file is complete; `None` if it cannot be read.
fn is_undamaged(path: &Path) -> Option<bool> {
    let (mut file, bytes) = open(path)?;
    let mut left = usize::try_from(bytes).ok()?.checked_sub(CHECKSUM_BYTES)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    while left > 0 {
        let part = chunk.get_mut(..left.min(CHUNK))?;
        file.read_exact(part).ok()?;
        hasher.update(&*part);
        left -= part.len();
    }
    let mut checksum = [0; CHECKSUM_BYTES];
    file.read_exact(&mut checksum).ok()?;
    let is_undamaged = hasher.finalize().as_slice() == checksum;
    if !is_undamaged {
        tracing::warn!(file = %path.display(), "damaged compiled plugin ignored");
    }
    Some(is_undamaged)
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
    fn code_is_loaded_from_its_file_unless_a_byte_of_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("compiled"), 1 << 20).unwrap();
        let engine = wasmtime::Engine::default();
        // The header of a component that has nothing.
        let component = Component::new(&engine, b"\0asm\x0d\0\x01\0").unwrap();
        let digest = Digest::compute(b"any");
        cache.store(&engine, digest, &component).unwrap();
        let path = cache.path(&engine, digest);
        assert!(cache.load(&engine, digest).is_some());
        assert_eq!(CodeCache::read(&path), component.serialize().ok());
        let is_mapped = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            maps.contains(folder.path().to_str().unwrap())
        };
        assert!(!is_mapped(), "what is not used stays in memory");
        let used = cache.load(&engine, digest);
        assert!(is_mapped(), "it is a copy");
        drop(used);
        let whole = fs::read(&path).unwrap();
        for changed in [0, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[changed] ^= 1;
            // Written as a new file, because a mapped file must not change.
            fs::remove_file(&path).unwrap();
            fs::write(&path, damaged).unwrap();
            assert!(cache.load(&engine, digest).is_none(), "{changed}");
            assert_eq!(CodeCache::read(&path), None);
        }
        for short in [0, CHECKSUM_BYTES - 1, whole.len() - 1] {
            fs::remove_file(&path).unwrap();
            fs::write(&path, &whole[..short]).unwrap();
            assert!(cache.load(&engine, digest).is_none(), "{short}");
            assert_eq!(CodeCache::read(&path), None);
        }
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
