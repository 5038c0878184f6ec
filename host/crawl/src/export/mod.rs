//! Exports of a run's pages: as JSON, lines of JSON, CSV, Parquet, a ZIP of Markdown files, or WARC.
//!
//! Pages are written in the order of their ids. Their rows are read a thousand at a time, their
//! content a few pages ahead, and only while the receiver takes what is written, so that memory
//! does not depend on the size of the run (but for the tables of contents of ZIP and Parquet files).

mod bucket;
mod cell;
mod csv_lines;
mod format;
mod gate;
mod include;
mod markdown_file;
mod names;
mod page;
mod parquet_file;
mod reader;
mod wacz;
mod warc;
mod writer;
mod zip_file;

pub use bucket::{
    BucketExports, BucketRequest, FetchTransport, SecretProblem, open_secret, work as bucket_work,
};
pub use cell::inert;
pub use format::ExportFormat;
pub use gate::{ExportGate, ExportPermit, TooManyExports};
pub use include::{Include, UnknownInclude};
pub use markdown_file::{markdown_file, with_front_matter};
pub use names::Names;
pub use page::ExportedPage;
pub use reader::ExportSpec;

pub use orbweaver_blobs::BlobUrl;

use bytes::Bytes;
use futures::TryStreamExt as _;
use orbweaver_pipeline::{Pipeline, ScanError, blocking_of};
use orbweaver_store::Store;
use orbweaver_store::crawl::Run;

use reader::Pages;
use writer::Writer;

/// Bytes after which a piece of an export is handed over.
const PIECE: usize = 64 << 10;

/// An export on its way out.
pub struct Export {
    store: Store,
    pipeline: Pipeline,
    run: Run,
    /// What is left of it.
    spec: ExportSpec,
    /// `None` until pages are wanted, and after a pause.
    pages: Option<Pages>,
    /// `None` after the end.
    writer: Option<Writer>,
    /// Pages that were written.
    written: u64,
    /// The offset of the first page behind the last one that may be written.
    end: u64,
    _permit: Option<ExportPermit>,
}

impl Export {
    /// An export of a run. Its permit is held until it is dropped.
    ///
    /// # Errors
    /// If the database fails.
    #[crate::boxed]
    pub async fn new(
        store: &Store,
        pipeline: &Pipeline,
        run: &Run,
        spec: ExportSpec,
        permit: Option<ExportPermit>,
    ) -> Result<Self, ScanError> {
        Ok(Self {
            store: store.clone(),
            pipeline: pipeline.clone(),
            run: run.clone(),
            pages: Some(Pages::new(store, pipeline, run, spec).await?),
            writer: Some(Writer::new(run, &spec)?),
            written: 0,
            end: spec.offset + u64::from(spec.limit),
            spec,
            _permit: permit,
        })
    }

    /// Number of pages in what was handed over.
    pub const fn pages(&self) -> u64 {
        self.written
    }

    /// Drops what was read ahead; [`next`](Self::next) reads it again. For a receiver that takes
    /// nothing for a while.
    pub fn pause(&mut self) {
        // After the last page, only what was read tells whether there are more.
        if self.spec.limit > 0 {
            self.pages = None;
        }
    }

    /// The next bytes; `None` after the last ones.
    ///
    /// # Errors
    /// If the database fails.
    #[crate::boxed]
    pub async fn next(&mut self) -> Result<Option<Bytes>, ScanError> {
        let mut out = Vec::new();
        while let Some(mut writer) = self.writer.take() {
            match self.page().await? {
                Some(page) if writer.is_cheap() => {
                    writer.page(&page, &mut out)?;
                    self.writer = Some(writer);
                }
                Some(page) => {
                    let written = blocking_of(writer.work(&page), move || {
                        writer.page(&page, &mut out)?;
                        Ok::<_, ScanError>((writer, out))
                    });
                    let (kept, bytes) = written.await??;
                    (self.writer, out) = (Some(kept), bytes);
                }
                None => {
                    let more = self.pages.as_ref().is_some_and(Pages::more);
                    let next = more.then_some(self.end);
                    let work = writer.end_work();
                    let finished = move || {
                        writer.end(next, &mut out)?;
                        Ok::<_, ScanError>(out)
                    };
                    return Ok(Some(blocking_of(work, finished).await??.into()));
                }
            }
            if out.len() >= PIECE {
                return Ok(Some(out.into()));
            }
        }
        Ok(None)
    }

    async fn page(&mut self) -> Result<Option<ExportedPage>, ScanError> {
        let pages = match &mut self.pages {
            Some(pages) => pages,
            None => {
                let pages = Pages::new(&self.store, &self.pipeline, &self.run, self.spec).await?;
                self.pages.insert(pages)
            }
        };
        let page = pages.stream.try_next().await?;
        if let Some(page) = &page {
            self.written += 1;
            self.spec.after = page.id;
            self.spec.offset = 0;
            self.spec.limit -= 1;
        }
        Ok(page)
    }
}

/// The pages of a run with their content, for a writer of one's own.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn export_pages(
    store: &Store,
    pipeline: &Pipeline,
    run: &Run,
    spec: ExportSpec,
) -> Result<futures::stream::BoxStream<'static, Result<ExportedPage, ScanError>>, ScanError> {
    Ok(Pages::new(store, pipeline, run, spec).await?.stream)
}
