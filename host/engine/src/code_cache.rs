//! Machine code on disk, so that a restart does not compile again.
//!
//! The files of this folder are executed, so only the server's user may be able to write
//! to it; the cache refuses any other. Against accidents (a full disk, a torn
//! write) every file carries the SHA-256 of its contents.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::inspect::Digest;

/// A verified folder of compiled components.
#[derive(Clone, Debug)]
pub(crate) struct CodeCache {
    dir: PathBuf,
}

const CHECKSUM_BYTES: usize = 32;

impl CodeCache {
    /// Opens or makes the folder. Fails if another user could write to it.
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

    /// The compiled component, if it is there, whole, and of this engine's making.
    pub fn load(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Component> {
        let code = self.read(engine, digest)?;
        // SAFETY: `code` is what `Component::serialize` wrote (the checksum says that it is
        // whole), from a file and a folder that no other user can write to. Whether it is
        // of this engine's version and settings, wasmtime checks.
        unsafe { Component::deserialize(engine, &code) }.ok()
    }

    /// The serialized code, if it is there and whole.
    pub fn read(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Vec<u8>> {
        let path = self.path(engine, digest);
        let mut file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
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

    /// Keeps a compiled component.
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
        return Err(format!("belongs to user {}, not to {me}", found.uid()));
    }
    if found.mode() & 0o022 != 0 {
        return Err("others can write to it".to_owned());
    }
    Ok(())
}
