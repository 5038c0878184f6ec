//! A ZIP of Markdown files, written without going back in it.

use std::io::{Read, Write};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::{DeflateEncoder, GzEncoder};
use orbweaver_pipeline::ScanError;
use parking_lot::Mutex;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};

use super::csv_lines::{CsvLines, unwritten};
use super::include::Include;
use super::markdown_file::markdown_file;
use super::names::Names;
use super::page::ExportedPage;

/// The name of the list of all pages.
const INDEX: &str = "index.csv";

/// A ZIP file with a Markdown file per page, and a CSV file of all pages at its end.
pub(super) struct ZipFile {
    archive: ZipArchiveWriter<Written>,
    written: Written,
    names: Names,
    lines: CsvLines,
    /// The index, compressed until it is written.
    index: GzEncoder<Vec<u8>>,
}

/// What the archive has written since it was last taken.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// Takes it.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl ZipFile {
    pub(super) fn new(include: &Include) -> Self {
        let written = Written::default();
        // The content is in the files, not in the index.
        let include = Include {
            title: true,
            markdown: false,
            article: false,
            html: false,
            ..*include
        };
        Self {
            archive: ZipArchiveWriter::new(written.clone()),
            written,
            names: Names::with(INDEX),
            lines: CsvLines::new(&["file"], &include),
            index: GzEncoder::new(Vec::new(), Compression::fast()),
        }
    }

    pub(super) fn page(&mut self, page: &ExportedPage, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let mut name = String::new();
        if let Some(text) = markdown_file(page) {
            name = self.names.name(&page.url);
            self.file(&name, Some(page.fetched_at), text.as_bytes())?;
        }
        let mut line = Vec::new();
        self.lines.line(&[name.as_str()], page, &mut line)?;
        let indexed = self.index.write_all(&line);
        indexed.map_err(|error| unwritten(&error))?;
        out.append(&mut self.written.take());
        Ok(())
    }

    pub(super) fn end(mut self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let mut names = Vec::new();
        self.lines.names(&mut names)?;
        let packed = self
            .index
            .write_all(&names)
            .and_then(|()| self.index.try_finish())
            .map_err(|error| unwritten(&error));
        packed?;
        let packed = std::mem::take(self.index.get_mut());
        self.file(INDEX, None, GzDecoder::new(&packed[..]))?;
        self.archive.finish().map_err(|error| unwritten(&error))?;
        out.append(&mut self.written.take());
        Ok(())
    }

    /// Adds a file with the content that is read.
    fn file(
        &mut self,
        name: &str,
        at: Option<DateTime<Utc>>,
        mut content: impl Read,
    ) -> Result<(), ScanError> {
        let mut entry = self
            .archive
            .new_file(name)
            .compression_method(CompressionMethod::DEFLATE)
            .unix_permissions(0o644);
        if let Some(at) = at {
            entry = entry.last_modified(UtcDateTime::from_unix(at.timestamp()));
        }
        let (mut entry, config) = entry.start().map_err(|error| unwritten(&error))?;
        let mut file = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        std::io::copy(&mut content, &mut file).map_err(|error| unwritten(&error))?;
        let (encoder, descriptor) = file.finish().map_err(|error| unwritten(&error))?;
        encoder.finish().map_err(|error| unwritten(&error))?;
        entry
            .finish(descriptor)
            .map_err(|error| unwritten(&error))?;
        Ok(())
    }
}
