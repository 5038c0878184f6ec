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

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::inspect::Digest;

/// A folder of compiled components, with checked permissions.
#[derive(Clone, Debug)]
pub(crate) struct CodeCache {
    dir: PathBuf,
}

const CHECKSUM_BYTES: usize = 32;

impl CodeCache {
    /// Opens or creates the folder. Fails if another user could write to it.
    pub fn open(dir: &Path) -> Result<Self, String> {
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
        })
    }

    /// The compiled component, if it is cached, undamaged, and made by this engine.
    pub fn load(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Component> {
        let code = Self::read(&self.path(engine, digest))?;
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
            fs::rename(&partial, self.path(engine, digest))
        };
        write().map_err(|e| {
            let _ = fs::remove_file(&partial);
            format!("{}: {e}", self.dir.display())
        })
    }

    fn path(&self, engine: &wasmtime::Engine, digest: Digest) -> PathBuf {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.dir
            .join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
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
