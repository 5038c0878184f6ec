//! The parts of a ZIP archive, read within limits.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::DeflateDecoder;
use orbweaver_sdk::Error;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

/// Most files of an archive.
const MAX_FILES: usize = 20_000;
/// Most bytes of one part, decompressed.
const MAX_PART: u64 = 64 << 20;

/// An archive.
pub(crate) struct Archive<'a> {
    archive: ZipSliceArchive<&'a [u8]>,
    parts: BTreeMap<String, (ZipArchiveEntryWayfinder, CompressionMethod)>,
}

impl<'a> Archive<'a> {
    /// Reads the archive's directory.
    pub(crate) fn open(body: &'a [u8]) -> Result<Self, Error> {
        let damaged = |error| Error::failed(format!("the archive is damaged: {error}"));
        let archive = ZipArchive::from_slice(body).map_err(damaged)?;
        let mut parts = BTreeMap::new();
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            if parts.len() >= MAX_FILES {
                return Err(Error::failed(format!(
                    "the archive has more than {MAX_FILES} files"
                )));
            }
            let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
            let part = (entry.wayfinder(), entry.compression_method());
            parts.entry(name).or_insert(part);
        }
        Ok(Self { archive, parts })
    }

    /// Whether it has a part of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    /// The text of a part, if there is one that can be read.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let Some((wayfinder, method)) = self.parts.get(name) else {
            return Ok(None);
        };
        let damaged =
            |what: String| Error::failed(format!("{name} in the archive is damaged: {what}"));
        let entry = self
            .archive
            .get_entry(*wayfinder)
            .map_err(|error| damaged(error.to_string()))?;
        let mut bytes = Vec::new();
        let read = match *method {
            CompressionMethod::STORE => entry.data().take(MAX_PART + 1).read_to_end(&mut bytes),
            CompressionMethod::DEFLATE => DeflateDecoder::new(entry.data())
                .take(MAX_PART + 1)
                .read_to_end(&mut bytes),
            _ => {
                return Err(damaged(
                    "its compression is not one of a document".to_owned(),
                ));
            }
        };
        if bytes.len() as u64 > MAX_PART {
            let mib = MAX_PART >> 20;
            return Err(Error::failed(format!(
                "{name} in the archive is larger than {mib} MiB"
            )));
        }
        // The part before the damage is still a document.
        if let Err(error) = read
            && bytes.is_empty()
        {
            return Err(damaged(error.to_string()));
        }
        Ok(Some(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }))
    }
}
