//! Plugins inside the program's own file, after its machine code: this one file then serves
//! without a plugin folder.
//!
//! ```text
//! program | packed entries | index (JSON) | trailer
//! ```
//!
//! The trailer has [`TRAILER_BYTES`]: the length of the index (64 bits, little endian), the
//! SHA-256 of the index, and [`MAGIC`]. Each entry is one zstd frame: a component, or the machine
//! code of a component. Components that differ in their manifests alone have one frame, and their
//! manifests are in the index. Machine code of plugins has much in common: all but one are packed with
//! that one's code as their dictionary. If that is damaged, all plugins are compiled; a component
//! depends on no other entry. wasmtime checks whether code was made by this version with these
//! settings and suits this processor; other code is ignored, and the component is compiled.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;
use zstd::bulk::Decompressor;

use crate::error::BundleError;
use crate::inspect::Digest;
use crate::manifest::section;

/// The last bytes of a program with plugins inside.
pub(crate) const MAGIC: &[u8; 16] = b"orbweaver-bundle";
/// Length of the index, checksum, magic.
const TRAILER_BYTES: u64 = 8 + 32 + 16;
/// Maximum size of the index. Each entry has some hundred bytes.
const MAX_INDEX_BYTES: u64 = 4 << 20;
/// Maximum size of an entry, packed and unpacked. The largest component that the engine accepts by
/// default has 64 MiB, and machine code about four times the size of its component.
const MAX_ENTRY_BYTES: u64 = 512 << 20;

/// One entry of the index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// What the entry contains.
    pub content: Content,
    /// SHA-256 in lower-case hex: of the component itself, or of the bytes that were compiled to
    /// this code (see [`Digest`]).
    pub component: String,
    /// Position in the file, in bytes from its start.
    pub offset: u64,
    /// Size in the file, in bytes.
    pub packed: u64,
    /// Unpacked size, in bytes.
    pub size: u64,
    /// SHA-256 of the unpacked bytes, in lower-case hex.
    pub sha256: String,
    /// Whether its frame needs the dictionary: the unpacked bytes of the entry that
    /// [`Index::dictionary`] names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_dictionary: bool,
    /// Of a component whose code others have, too: the manifest that [`section::embed`] puts behind the
    /// unpacked bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
}

/// The index.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Index {
    /// Which of the entries is the dictionary of others.
    pub dictionary: Option<usize>,
    /// What there is.
    pub entries: Vec<Entry>,
}

/// What an entry contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    /// A component, with its file name, such as `extract-links.wasm`.
    Component(String),
    /// Machine code.
    Code,
}

/// The plugins inside a program.
#[derive(Debug)]
pub(crate) struct Bundle {
    file: File,
    /// Size of the program without its plugins.
    pub program_bytes: u64,
    index: Index,
    /// Read when it is first needed; `None` if it is damaged.
    dictionary: OnceLock<Option<Vec<u8>>>,
}

/// Whether a program has plugins inside; false if its file cannot be read.
pub fn has_bundle(program: &Path) -> bool {
    matches!(Bundle::open(program), Ok(Some(_)))
}

impl Bundle {
    /// The plugins inside a program; `None` if it has none.
    ///
    /// # Errors
    /// [`BundleError`] if the file cannot be read, or its bundle is damaged.
    pub fn open(program: &Path) -> Result<Option<Self>, BundleError> {
        let file = File::open(program)?;
        let length = file.metadata()?.len();
        let Some(trailer_at) = length.checked_sub(TRAILER_BYTES) else {
            return Ok(None);
        };
        let trailer = read(&file, trailer_at, TRAILER_BYTES)?;
        let Some((index_bytes, checksum, magic)) = split_trailer(&trailer) else {
            return Ok(None);
        };
        if magic != MAGIC {
            return Ok(None);
        }
        let damaged = BundleError::Damaged;
        if index_bytes > MAX_INDEX_BYTES {
            return Err(damaged("the index is too long"));
        }
        let index_at = trailer_at
            .checked_sub(index_bytes)
            .ok_or(damaged("the index is longer than the file"))?;
        let index = read(&file, index_at, index_bytes)?;
        if Sha256::digest(&index).as_slice() != checksum {
            return Err(damaged("the checksum of the index is wrong"));
        }
        let index: Index =
            serde_json::from_slice(&index).map_err(|_| damaged("the index cannot be read"))?;
        let fits = |entry: &Entry| {
            let end = entry.offset.checked_add(entry.packed);
            end.is_some_and(|end| end <= index_at)
                && entry.packed <= MAX_ENTRY_BYTES
                && entry.size <= MAX_ENTRY_BYTES
        };
        if !index.entries.iter().all(fits) {
            return Err(damaged("an entry is outside of the file or too large"));
        }
        let first = index.entries.iter().map(|entry| entry.offset).min();
        Ok(Some(Self {
            file,
            program_bytes: first.unwrap_or(index_at),
            index,
            dictionary: OnceLock::new(),
        }))
    }

    /// File name of every component, and its size in bytes, to within some of a section's head.
    pub fn components(&self) -> impl Iterator<Item = (&str, u64)> {
        self.index
            .entries
            .iter()
            .filter_map(|entry| match &entry.content {
                Content::Component(name) => {
                    let manifest = entry.manifest.as_ref().map_or(0, String::len);
                    Some((name.as_str(), entry.size + manifest as u64))
                }
                Content::Code => None,
            })
    }

    /// The component with this file name. CPU-bound: about 10 ms for a large one.
    ///
    /// # Errors
    /// [`BundleError`] if it is missing or damaged.
    pub fn component(&self, file_name: &str) -> Result<Arc<[u8]>, BundleError> {
        let is_it = |entry: &&Entry| matches!(&entry.content, Content::Component(name) if name == file_name);
        let entry = self.index.entries.iter().find(is_it);
        let entry = entry.ok_or(BundleError::Damaged("a component is missing"))?;
        let bytes = self.unpack(entry)?;
        let Some(manifest) = &entry.manifest else {
            return Ok(bytes.into());
        };
        let component = section::embed(&bytes, manifest)
            .map_err(|_| BundleError::Damaged("a component cannot be put together"))?;
        if Digest::compute(&component).to_string() != entry.component {
            return Err(BundleError::Damaged("the checksum of a component is wrong"));
        }
        Ok(component.into())
    }

    /// The compiled component, if the bundle has it, undamaged, for this engine and processor.
    pub fn code(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Component> {
        let digest = digest.to_string();
        let candidates = self
            .index
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
            // SAFETY: `code` was written by `Component::serialize` (the checksum shows that it is
            // complete), in the file of the running program: anyone who can change it can change
            // the program. wasmtime checks that it was made with this engine's version and
            // settings, and for this processor.
            match unsafe { Component::deserialize(engine, &code) } {
                Ok(component) => return Some(component),
                // Code for the other engine, or for a newer processor.
                Err(error) => tracing::debug!(
                    "embedded machine code is for another engine or CPU; skipped: {error:#}"
                ),
            }
        }
        None
    }

    fn unpack(&self, entry: &Entry) -> Result<Vec<u8>, BundleError> {
        let packed = read(&self.file, entry.offset, entry.packed)?;
        let size = usize::try_from(entry.size)
            .map_err(|_| BundleError::Damaged("an entry is too large"))?;
        let mut unpacker = match entry.needs_dictionary {
            true => Decompressor::with_dictionary(self.dictionary()?)?,
            false => Decompressor::new()?,
        };
        let bytes = unpacker
            .decompress(&packed, size)
            .map_err(|_| BundleError::Damaged("an entry cannot be unpacked"))?;
        if hex::encode(Sha256::digest(&bytes)) != entry.sha256 {
            return Err(BundleError::Damaged("the checksum of an entry is wrong"));
        }
        Ok(bytes)
    }

    fn dictionary(&self) -> Result<&[u8], BundleError> {
        let read = || {
            let entry = self.index.entries.get(self.index.dictionary?)?;
            if entry.needs_dictionary {
                return None;
            }
            self.unpack(entry).ok()
        };
        let dictionary = self.dictionary.get_or_init(read).as_deref();
        dictionary.ok_or(BundleError::Damaged(
            "the dictionary of an entry is damaged",
        ))
    }
}

/// Length of the index, its checksum, magic.
fn split_trailer(trailer: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (length, rest) = trailer.split_first_chunk::<8>()?;
    let (checksum, magic) = rest.split_at_checked(32)?;
    Some((u64::from_le_bytes(*length), checksum, magic))
}

/// Reads part of a file; the caller has limited `length`.
fn read(file: &File, offset: u64, length: u64) -> Result<Vec<u8>, BundleError> {
    let length =
        usize::try_from(length).map_err(|_| BundleError::Damaged("a length is too large"))?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
