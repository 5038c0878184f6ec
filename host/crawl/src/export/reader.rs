//! Reads the pages of an export, in order and a little ahead.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_pipeline::{
    ExtractorOptions, Pipeline, RoleError, ScanError, StoredError, blocking_of,
};
use orbweaver_store::crawl::{PageRange, PageRecord, PageSummary, Run};
use orbweaver_store::{Store, StoreError, StoredBody, StoredPage};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::format::ExportFormat;
use super::include::Include;
use super::page::{ExportedPage, Response};

/// Rows read at a time.
const CHUNK: u32 = 1_000;
/// Pages whose content is read at the same time. Each may have a body of the largest size.
const AHEAD: usize = 4;
/// Pages whose bodies are asked of a blob store together, and the most bytes of them.
const TOGETHER: usize = 64;
const AHEAD_BYTES: u64 = 8 << 20;

/// What is exported of a run.
#[derive(Clone, Copy, Debug)]
pub struct ExportSpec {
    /// The form.
    pub format: ExportFormat,
    /// The fields of each page.
    pub include: Include,
    /// Whether Markdown is without navigation, footer and sidebars.
    pub main_content: bool,
    /// Only pages with this HTTP status.
    pub status: Option<u16>,
    /// Only pages with a higher id.
    pub after: PageId,
    /// Number of selected pages to skip.
    pub offset: u64,
    /// Maximum number of pages.
    pub limit: u32,
}

impl ExportSpec {
    /// Whether it can be made only of pages that were stored with their bodies.
    pub const fn needs_body(&self) -> bool {
        self.include.needs_body()
            || matches!(
                self.format,
                ExportFormat::Zip | ExportFormat::Warc | ExportFormat::Wacz
            )
    }
}

/// The pages of an export.
pub(super) struct Pages {
    pub(super) stream: BoxStream<'static, Result<ExportedPage, ScanError>>,
    /// Whether there are pages behind the last one.
    more: Arc<AtomicBool>,
}

impl Pages {
    pub(super) async fn new(
        store: &Store,
        pipeline: &Pipeline,
        run: &Run,
        spec: ExportSpec,
    ) -> Result<Self, ScanError> {
        let mut include = spec.include;
        // The files, and the title in their index.
        include.markdown |= spec.format == ExportFormat::Zip;
        include.title |= spec.format == ExportFormat::Zip;
        let inlinks = match include.inlinks {
            true => Some(store.inlinks(run.project, run.id).await?),
            false => None,
        };
        let more = Arc::new(AtomicBool::new(false));
        let rows = Rows {
            store: store.clone(),
            project: run.project,
            run: run.id,
            spec,
            after: spec.after,
            skip: spec.offset,
            left: spec.limit,
            more: Arc::clone(&more),
        };
        let content = Arc::new(Content {
            store: store.clone(),
            pipeline: pipeline.clone(),
            project: run.project,
            include,
            inlinks,
            main_content: spec.main_content,
            whole: matches!(spec.format, ExportFormat::Warc | ExportFormat::Wacz),
        });
        let bodies_of = Arc::clone(&content);
        let stream = stream::try_unfold(rows, |mut rows| async move {
            let read = to_its_end(async move { (rows.read().await, rows) });
            let (read, rows) = read.await?;
            Ok::<_, StoreError>(
                read?.map(|read| (stream::iter(read).map(Ok::<_, StoreError>), rows)),
            )
        })
        .try_flatten()
        .try_chunks(TOGETHER)
        .map(move |rows| {
            let content = Arc::clone(&bodies_of);
            async move {
                // A failure ends the export, so the pages read before it are dropped.
                let rows = rows.map_err(|error| error.1)?;
                to_its_end(async move { content.with_bodies(rows).await }).await?
            }
        })
        // The next bodies arrive while those before them are read.
        .buffered(2)
        .map_ok(|rows| stream::iter(rows).map(Ok::<_, StoreError>))
        .try_flatten()
        .map(move |row| {
            let content = Arc::clone(&content);
            async move {
                let (row, body) = row?;
                to_its_end(async move { content.page(row, body).await }).await?
            }
        })
        .buffered(AHEAD)
        .boxed();
        Ok(Self { stream, more })
    }

    /// Whether there are pages behind the last one, once all are read.
    pub(super) fn more(&self) -> bool {
        self.more.load(Ordering::Relaxed)
    }
}

/// Does work in a task of its own, which ends with the caller. What is read ahead is not polled while the
/// receiver takes nothing: the work would keep its connection to the database from all others for as long.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    let mut task = JoinSet::new();
    task.spawn(work.in_current_span());
    match task.join_next().await {
        Some(Ok(done)) => Ok(done),
        Some(Err(_)) | None => Err(StoreError::Fault),
    }
}

/// The rows of the pages.
struct Rows {
    store: Store,
    project: ProjectId,
    run: RunId,
    spec: ExportSpec,
    after: PageId,
    skip: u64,
    left: u32,
    more: Arc<AtomicBool>,
}

impl Rows {
    async fn read(&mut self) -> Result<Option<Vec<PageSummary>>, StoreError> {
        if self.left == 0 {
            return Ok(None);
        }
        let take = self.left.min(CHUNK);
        let range = PageRange {
            status: self.spec.status,
            after: self.after,
            offset: self.skip,
            // One more than is used tells whether there are more.
            limit: take + 1,
        };
        let mut rows = self
            .store
            .run_summaries(self.project, self.run, &range)
            .await?;
        let more = rows.len() > take as usize;
        rows.truncate(take as usize);
        self.left = if more { self.left - take } else { 0 };
        self.more.store(more && self.left == 0, Ordering::Relaxed);
        self.skip = 0;
        self.after = rows.last().map_or(self.after, |row| row.item.id);
        Ok((!rows.is_empty()).then_some(rows))
    }
}

/// Reads the content of pages.
struct Content {
    store: Store,
    pipeline: Pipeline,
    project: ProjectId,
    include: Include,
    inlinks: Option<HashMap<PageId, u32>>,
    main_content: bool,
    /// Whether headers and body are read.
    whole: bool,
}

impl Content {
    /// The rows, and those of their bodies that can be read together.
    async fn with_bodies(
        &self,
        rows: Vec<PageSummary>,
    ) -> Result<Vec<(PageSummary, Option<StoredBody>)>, StoreError> {
        let mut bodies = HashMap::new();
        if self.whole || self.include.needs_content() {
            let pages: Vec<PageId> = rows.iter().map(|row| row.item.id).collect();
            let read = self.store.bodies_ahead(self.project, &pages, AHEAD_BYTES);
            bodies = read.await?;
        }
        let rows = rows.into_iter().map(|row| {
            let body = bodies.remove(&row.item.id);
            (row, body)
        });
        Ok(rows.collect())
    }

    async fn page(
        &self,
        row: PageSummary,
        body: Option<StoredBody>,
    ) -> Result<ExportedPage, ScanError> {
        let inlinks = self.inlinks.as_ref();
        let inlinks = inlinks.map(|known| known.get(&row.item.id).copied().unwrap_or(0));
        let mut page = ExportedPage::new(row, &self.include, inlinks);
        if !self.whole && !self.include.needs_content() {
            return Ok(page);
        }
        // Without its record, the page was deleted meanwhile.
        if let Some(mut record) = self.store.page(self.project, page.id).await? {
            record.page.ahead = body;
            if self.whole {
                page.stored = Some(self.response(record, &mut page.errors).await?);
            } else {
                self.extract(&mut page, record).await?;
            }
        }
        Ok(page)
    }

    async fn extract(
        &self,
        page: &mut ExportedPage,
        mut record: PageRecord,
    ) -> Result<(), ScanError> {
        page.extend(&self.include, record.extensions.take().as_deref());
        match self.body(&mut record.page).await? {
            Ok(stored) => record.page.ahead = stored,
            Err(error) => {
                page.errors.push(error);
                return Ok(());
            }
        }
        let parts = self.include.parts(self.main_content);
        let options = ExtractorOptions::new();
        let content =
            self.pipeline
                .stored_content(&self.store, self.project, record, parts, &options);
        match content.await {
            Ok(content) => page.fill(&self.include, content),
            Err(StoredError::NoBody) => {}
            // One damaged page is no reason to lose the others.
            Err(StoredError::Scan(error)) => page.errors.push(failed(page.id, &error)),
        }
        Ok(())
    }

    /// The body of a page, if it was stored with one. One damaged page is no reason to lose the
    /// others: an error of its own. In an outage, all that follow would be without content: an
    /// error of the export.
    async fn body(
        &self,
        page: &mut StoredPage,
    ) -> Result<Result<Option<StoredBody>, RoleError>, ScanError> {
        let Some((blob, _)) = page.body else {
            return Ok(Ok(None));
        };
        if let Some(ahead) = page.ahead.take() {
            return Ok(Ok(Some(ahead)));
        }
        match self.store.body(self.project, blob).await {
            Ok(stored) => Ok(Ok(stored)),
            Err(error) if error.is_transient() => Err(error.into()),
            Err(error) => Ok(Err(failed(page.id, &error))),
        }
    }

    async fn response(
        &self,
        PageRecord { mut page, .. }: PageRecord,
        errors: &mut Vec<RoleError>,
    ) -> Result<Response, ScanError> {
        let stored = self.body(&mut page).await?.unwrap_or_else(|error| {
            errors.push(error);
            None
        });
        let body = match stored {
            Some(stored) => match blocking_of(stored.size as usize, move || stored.unpack()).await?
            {
                Ok(body) => Some(body),
                Err(error) => {
                    errors.push(failed(page.id, &error));
                    None
                }
            },
            None => None,
        };
        Ok(Response { page, body })
    }
}

fn failed(page: PageId, error: &dyn std::fmt::Display) -> RoleError {
    tracing::error!(page.id = %page, %error, "cannot read a stored page for an export");
    RoleError {
        role: "body".to_owned(),
        plugin: None,
        code: "failed".into(),
        message: "the stored body cannot be read".to_owned(),
    }
}
