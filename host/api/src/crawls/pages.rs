//! GET /v1/crawls/{id}/pages.

use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_crawl::export::{ExportFormat, ExportSpec, ExportedPage, Include};
use orbweaver_store::crawl::PageRange;
use orbweaver_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::export;
use super::listing::{self, Format, MAX_LIMIT, Source};
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::validate;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many pages.
    #[param(minimum = 1, maximum = 100_000, default = 100)]
    limit: Option<u32>,
    /// How many of the first to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Only pages with this HTTP status.
    #[param(minimum = 100, maximum = 999)]
    status: Option<u16>,
    /// `json` (default), `ndjson` (one page a line) or `csv` (header
    /// `id,url,status,bytes,fetched_at`).
    #[param(inline)]
    format: Option<Format>,
    /// Fields to add to each page, separated by commas: title, final_url, depth, content_type,
    /// content_hash, elapsed_ms, redirects, inlinks, markdown, article, html, metadata, signals,
    /// extensions, extracted.
    #[param(
        pattern = "^ *(title|final_url|depth|content_type|content_hash|elapsed_ms|redirects|inlinks|markdown|article|html|metadata|signals|extensions|extracted)?( *, *(title|final_url|depth|content_type|content_hash|elapsed_ms|redirects|inlinks|markdown|article|html|metadata|signals|extensions|extracted)?)* *$",
        example = "title,depth"
    )]
    include: Option<String>,
    /// With `include=markdown`: Markdown without navigation, footer and sidebars.
    #[param(default = false)]
    only_main_content: Option<bool>,
}

/// Pages in the order in which they were stored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Pages {
    items: Vec<ExportedPage>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// A page to which nothing is added.
#[derive(Serialize)]
pub(super) struct PageListItem {
    /// Global, not an index within the run.
    id: PageId,
    url: String,
    /// HTTP status.
    status: u16,
    /// Length of the decoded body.
    bytes: u64,
    fetched_at: DateTime<Utc>,
}

/// The pages of a run, in the order in which they were stored; streamed.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/pages",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The pages", content(
            (Pages = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
        )),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_pages(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let limit = validate::limit(query.0.limit, 100, MAX_LIMIT)?;
    let offset = validate::offset(query.0.offset)?;
    let status = export::check_status(query.0.status)?;
    let format = query.0.format.unwrap_or_default();
    let include = export::parse_include(query.0.include.as_deref())?;
    let run = path::run(&ctx, id).await?;
    if include != Include::default() {
        let spec = ExportSpec {
            format: format.into(),
            include,
            main_content: query.0.only_main_content.unwrap_or(false),
            status,
            after: PageId(0),
            offset,
            limit,
        };
        return export::answer(&ctx, &run, spec, "include").await;
    }
    let pages = RunPages {
        store: ctx.app.store.clone(),
        project: ctx.principal.project,
        run: run.id,
        status,
        after: PageId(0),
    };
    listing::answer(pages, format, offset, limit).await
}

impl From<Format> for ExportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Ndjson => Self::Ndjson,
            Format::Csv => Self::Csv,
        }
    }
}

struct RunPages {
    store: Store,
    project: ProjectId,
    run: RunId,
    status: Option<u16>,
    after: PageId,
}

impl Source for RunPages {
    type Item = PageListItem;
    const COLUMNS: &'static [&'static str] = &["id", "url", "status", "bytes", "fetched_at"];

    async fn read(&mut self, skip: u64, limit: u32) -> Result<Vec<PageListItem>, StoreError> {
        let range = PageRange {
            status: self.status,
            after: self.after,
            offset: skip,
            limit,
        };
        let rows = self.store.run_pages(self.project, self.run, &range).await?;
        let items = rows.into_iter().map(|row| PageListItem {
            id: row.id,
            url: row.url,
            status: row.status,
            bytes: row.bytes,
            fetched_at: row.fetched_at,
        });
        Ok(items.collect())
    }

    fn keep(&mut self, items: &[PageListItem]) {
        self.after = items.last().map_or(self.after, |item| item.id);
    }

    fn record(item: &PageListItem) -> Vec<String> {
        vec![
            item.id.to_string(),
            item.url.clone(),
            item.status.to_string(),
            item.bytes.to_string(),
            item.fetched_at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        ]
    }
}
