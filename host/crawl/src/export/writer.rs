//! Writes pages in one of the forms.

use orbweaver_pipeline::ScanError;
use orbweaver_store::crawl::Run;

use super::csv_lines::{CsvLines, unwritten};
use super::format::ExportFormat;
use super::page::ExportedPage;
use super::parquet_file::ParquetFile;
use super::reader::ExportSpec;
use super::wacz::WaczFile;
use super::warc::WarcFile;
use super::zip_file::ZipFile;

/// The writer of an export.
pub(super) enum Writer {
    Ndjson,
    Json { started: bool },
    Csv(CsvLines),
    Parquet(Box<ParquetFile>),
    Zip(Box<ZipFile>),
    Warc(Box<WarcFile>),
    Wacz(Box<WaczFile>),
}

impl Writer {
    pub(super) fn new(run: &Run, spec: &ExportSpec) -> Result<Self, ScanError> {
        Ok(match spec.format {
            ExportFormat::Ndjson => Self::Ndjson,
            ExportFormat::Json => Self::Json { started: false },
            ExportFormat::Csv => Self::Csv(CsvLines::new(&[], &spec.include)),
            ExportFormat::Parquet => Self::Parquet(Box::new(ParquetFile::new(&spec.include)?)),
            ExportFormat::Zip => Self::Zip(Box::new(ZipFile::new(&spec.include))),
            ExportFormat::Warc => Self::Warc(Box::new(WarcFile::new(run))),
            ExportFormat::Wacz => Self::Wacz(Box::new(WaczFile::new(run))),
        })
    }

    /// Whether the next page takes no noticeable time to write.
    pub(super) fn is_cheap(&self) -> bool {
        match self {
            Self::Ndjson | Self::Json { .. } | Self::Csv(_) => true,
            Self::Parquet(file) => !file.is_full(),
            Self::Zip(_) | Self::Warc(_) | Self::Wacz(_) => false,
        }
    }

    /// About the bytes that are read to write a page that is not cheap.
    pub(super) fn work(&self, page: &ExportedPage) -> usize {
        match self {
            // All pages that were collected.
            Self::Parquet(_) => usize::MAX,
            _ => usize::try_from(page.bytes).unwrap_or(usize::MAX),
        }
    }

    /// The same of the end.
    pub(super) const fn end_work(&self) -> usize {
        match self {
            Self::Ndjson | Self::Json { .. } | Self::Csv(_) => 0,
            // Tables of contents, of up to 100,000 pages.
            Self::Parquet(_) | Self::Zip(_) | Self::Warc(_) | Self::Wacz(_) => usize::MAX,
        }
    }

    pub(super) fn page(&mut self, page: &ExportedPage, out: &mut Vec<u8>) -> Result<(), ScanError> {
        match self {
            Self::Ndjson => {
                json(page, out)?;
                out.push(b'\n');
                Ok(())
            }
            Self::Json { started } => {
                let start: &[u8] = match std::mem::replace(started, true) {
                    true => b",",
                    false => b"{\"items\":[",
                };
                out.extend_from_slice(start);
                json(page, out)
            }
            Self::Csv(lines) => lines.line(&[], page, out),
            Self::Parquet(file) => file.page(page, out),
            Self::Zip(file) => file.page(page, out),
            Self::Warc(file) => file.page(page, out).map(|_| ()),
            Self::Wacz(file) => file.page(page, out),
        }
    }

    /// Writes the end; `next_offset` is that of the first page behind it, if there is one.
    pub(super) fn end(self, next_offset: Option<u64>, out: &mut Vec<u8>) -> Result<(), ScanError> {
        match self {
            Self::Ndjson => {}
            Self::Json { started } => {
                if !started {
                    out.extend_from_slice(b"{\"items\":[");
                }
                let next = next_offset.map_or_else(|| "null".to_owned(), |next| next.to_string());
                out.extend_from_slice(format!("],\"next_offset\":{next}}}").as_bytes());
            }
            Self::Csv(mut lines) => lines.names(out)?,
            Self::Parquet(file) => file.end(out)?,
            Self::Zip(file) => file.end(out)?,
            Self::Warc(mut file) => file.info(out)?,
            Self::Wacz(file) => file.end(out)?,
        }
        Ok(())
    }
}

fn json(page: &ExportedPage, out: &mut Vec<u8>) -> Result<(), ScanError> {
    serde_json::to_writer(out, page).map_err(|error| unwritten(&error))
}
