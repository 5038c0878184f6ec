//! Plugins inside the program's own file, behind its machine code: one file then serves
//! without a plugin folder.
//!
//! ```text
//! program | packed entries | index (JSON) | trailer
//! ```
//!
//! The trailer has [`TRAILER_BYTES`]: the length of the index (64 bits, little endian), the
//! index's SHA-256, and [`MAGIC`]. Each entry is one zstd frame: a component, or the machine
//! code that the component with this digest was compiled to. Whether code is of this
//! wasmtime's version and settings, and for this processor, wasmtime checks; what does not
//! fit is compiled anew.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::error::BundleError;
use crate::inspect::Digest;

/// The last bytes of a program that has a bundle.
pub(crate) const MAGIC: &[u8; 16] = b"orbweaver-bundle";
/// Length, checksum and magic.
const TRAILER_BYTES: u64 = 8 + 32 + 16;
/// An index has some hundred bytes an entry.
const MAX_INDEX_BYTES: u64 = 4 << 20;
/// Machine code of the largest component that the engine accepts by default (64 MiB) has some
/// four times its size.
const MAX_ENTRY_BYTES: u64 = 512 << 20;

/// One entry of the index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// What it is.
    pub content: Content,
    /// SHA-256 of the component, lower-case hex: of the entry itself, or of what the code was
    /// compiled from.
    pub component: String,
    /// Where it begins, from the file's start.
    pub offset: u64,
    /// Bytes in the file.
    pub packed: u64,
    /// Bytes unpacked.
    pub size: u64,
    /// SHA-256 of the unpacked bytes, lower-case hex.
    pub sha256: String,
}

/// What an entry holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    /// A component, with the file name that it had in the plugin folder.
    Component(String),
    /// Machine code.
    Code,
}

/// The plugins inside a program.
#[derive(Debug)]
pub(crate) struct Bundle {
    file: File,
    /// Where the program itself ends.
    pub program_bytes: u64,
    entries: Vec<Entry>,
}

/// Whether a program has plugins inside. A file that cannot be read has none.
pub fn has_bundle(program: &Path) -> bool {
    matches!(Bundle::open(program), Ok(Some(_)))
}

impl Bundle {
    /// The bundle of a program, or none if it has none.
    ///
    /// # Errors
    /// [`BundleError`] if the file cannot be read, or begins a bundle that is damaged.
    pub fn open(program: &Path) -> Result<Option<Self>, BundleError> {
        let file = File::open(program)?;
        let length = file.metadata()?.len();
        let Some(trailer_at) = length.checked_sub(TRAILER_BYTES) else {
            return Ok(None);
        };
        let trailer = read(&file, trailer_at, TRAILER_BYTES)?;
        let Some((count, checksum, magic)) = split_trailer(&trailer) else {
            return Ok(None);
        };
        if magic != MAGIC {
            return Ok(None);
        }
        let damaged = BundleError::Damaged;
        if count > MAX_INDEX_BYTES {
            return Err(damaged("its index is too long"));
        }
        let index_at = trailer_at
            .checked_sub(count)
            .ok_or(damaged("its index is longer than the file"))?;
        let index = read(&file, index_at, count)?;
        if Sha256::digest(&index).as_slice() != checksum {
            return Err(damaged("its index has another checksum"));
        }
        let entries: Vec<Entry> =
            serde_json::from_slice(&index).map_err(|_| damaged("its index is no index"))?;
        let fits = |entry: &Entry| {
            let end = entry.offset.checked_add(entry.packed);
            end.is_some_and(|end| end <= index_at)
                && entry.packed <= MAX_ENTRY_BYTES
                && entry.size <= MAX_ENTRY_BYTES
        };
        if !entries.iter().all(fits) {
            return Err(damaged("an entry is outside the file"));
        }
        let first = entries.iter().map(|entry| entry.offset).min();
        Ok(Some(Self {
            file,
            program_bytes: first.unwrap_or(index_at),
            entries,
        }))
    }

    /// The file names of all components.
    pub fn file_names(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.content {
                Content::Component(name) => Some(name.as_str()),
                Content::Code => None,
            })
    }

    /// A component by its file name.
    ///
    /// # Errors
    /// [`BundleError`] if it is not there, or not whole.
    pub fn component(&self, file_name: &str) -> Result<Arc<[u8]>, BundleError> {
        let is_it = |entry: &&Entry| matches!(&entry.content, Content::Component(name) if name == file_name);
        let entry = self.entries.iter().find(is_it);
        let entry = entry.ok_or(BundleError::Damaged("a component is missing"))?;
        Ok(self.unpack(entry)?.into())
    }

    /// The compiled component, if it is there, whole, and fits this engine and processor.
    pub fn code(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Component> {
        let digest = digest.to_string();
        let candidates = self
            .entries
            .iter()
            .filter(|entry| entry.content == Content::Code && entry.component == digest);
        for entry in candidates {
            let code = match self.unpack(entry) {
                Ok(code) => code,
                Err(error) => {
                    tracing::warn!("compiled plugin ignored: {error}");
                    continue;
                }
            };
            // SAFETY: `code` is what `Component::serialize` wrote (the checksum says that it
            // is whole), from the file of the program that runs: who could change it could
            // change the program. Whether it is of this engine's version and settings and
            // for this processor, wasmtime checks.
            match unsafe { Component::deserialize(engine, &code) } {
                Ok(component) => return Some(component),
                // Of the other of the two engines, or for a newer processor.
                Err(error) => tracing::debug!("compiled plugin does not fit: {error:#}"),
            }
        }
        None
    }

    fn unpack(&self, entry: &Entry) -> Result<Vec<u8>, BundleError> {
        let packed = read(&self.file, entry.offset, entry.packed)?;
        let size = usize::try_from(entry.size)
            .map_err(|_| BundleError::Damaged("an entry is too large"))?;
        let bytes = zstd::bulk::decompress(&packed, size)
            .map_err(|_| BundleError::Damaged("an entry does not unpack"))?;
        if hex::encode(Sha256::digest(&bytes)) != entry.sha256 {
            return Err(BundleError::Damaged("an entry has another checksum"));
        }
        Ok(bytes)
    }
}

/// Length of the index, its checksum, magic.
fn split_trailer(trailer: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (count, rest) = trailer.split_first_chunk::<8>()?;
    let (checksum, magic) = rest.split_at_checked(32)?;
    Some((u64::from_le_bytes(*count), checksum, magic))
}

/// `count` bytes of a file; the caller has bounded them.
fn read(file: &File, offset: u64, count: u64) -> Result<Vec<u8>, BundleError> {
    let count =
        usize::try_from(count).map_err(|_| BundleError::Damaged("a length is too large"))?;
    let mut bytes = vec![0; count];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
