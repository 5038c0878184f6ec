//! GET /v1/crawls/{id}/export.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use orbweaver_core::ids::PageId;
use orbweaver_crawl::export::{Export, ExportFormat, ExportSpec, ExportedPage, Include};
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_pipeline::ScanError;
use orbweaver_store::crawl::Run;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::listing::MAX_LIMIT;
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::validate;

/// Seconds after which one of the project's exports may have ended.
const RETRY_AFTER: u64 = 10;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// `ndjson` (default), `csv`, `parquet`, `json`, `zip` (a Markdown file per page and `index.csv`),
    /// `warc` (WARC 1.1, compressed) or `wacz` (WARC files with an index, for replay tools).
    #[param(inline)]
    format: Option<ExportFormat>,
    /// Fields to add to each page, separated by commas: title, final_url, depth, content_type,
    /// content_hash, elapsed_ms, redirects, inlinks, markdown, article, html, metadata, signals,
    /// extensions, extracted. Of a ZIP file they are columns of its index; of WARC files there is no
    /// choice.
    #[param(
        pattern = "^ *(title|final_url|depth|content_type|content_hash|elapsed_ms|redirects|inlinks|markdown|article|html|metadata|signals|extensions|extracted)?( *, *(title|final_url|depth|content_type|content_hash|elapsed_ms|redirects|inlinks|markdown|article|html|metadata|signals|extensions|extracted)?)* *$",
        example = "title,depth,markdown"
    )]
    include: Option<String>,
    /// Markdown without navigation, footer and sidebars.
    #[param(default = false)]
    only_main_content: Option<bool>,
    /// Only pages with this HTTP status.
    #[param(minimum = 100, maximum = 999)]
    status: Option<u16>,
    /// Maximum number of pages.
    #[param(minimum = 1, maximum = 100_000, default = 100_000)]
    limit: Option<u32>,
    /// Number of pages to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Only pages behind the one with this id: continues an export that broke off.
    #[param(minimum = 0)]
    after: Option<i64>,
}

/// Pages in the order in which they were stored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct ExportedPages {
    items: Vec<ExportedPage>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// The pages of a run as a file, in the order in which they were stored; streamed.
///
/// Content is extracted on the way, and not billed. A project reads at most four exports at the
/// same time. A stream that breaks off is incomplete; `after` continues it.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/export",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The pages", content(
            (ExportedPages = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
            (Vec<u8> = "application/vnd.apache.parquet"),
            (Vec<u8> = "application/zip"),
            (Vec<u8> = "application/gzip"),
            (Vec<u8> = "application/wacz"),
        ), headers(
            ("Content-Disposition" = String, description = "`attachment`, with the name of the file"),
        )),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn export_crawl(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let Params {
        format,
        include,
        only_main_content,
        status,
        limit,
        offset,
        after,
    } = query.0;
    let spec = ExportSpec {
        format: format.unwrap_or_default(),
        include: parse_include(include.as_deref())?,
        main_content: only_main_content.unwrap_or(false),
        status: check_status(status)?,
        after: PageId(check_after(after)?),
        offset: validate::offset(offset)?,
        limit: validate::limit(limit, MAX_LIMIT, MAX_LIMIT)?,
    };
    check_include(&spec)?;
    let run = path::run(&ctx, id).await?;
    let mut response = answer(&ctx, &run, spec, "include").await?;
    let name = format!(
        "attachment; filename=\"crawl-{}.{}\"",
        run.id,
        spec.format.extension()
    );
    let name = HeaderValue::try_from(name).map_err(|error| ApiError::internal(&error))?;
    response.headers_mut().insert(CONTENT_DISPOSITION, name);
    Ok(response)
}

/// Checks that the form has room for what is included.
pub(super) fn check_include(spec: &ExportSpec) -> Result<(), ApiError> {
    if matches!(spec.format, ExportFormat::Warc | ExportFormat::Wacz)
        && spec.include != Include::default()
    {
        let rule = "a WARC file has whole responses, and nothing can be added";
        return Err(ApiError::invalid("include", rule));
    }
    Ok(())
}

/// Checks that the run has the bodies that the export needs; `field` asked for the content.
pub(super) fn check_body(run: &Run, spec: &ExportSpec, field: &str) -> Result<(), ApiError> {
    let stored: Option<CrawlSpec> = serde_json::from_str(&run.spec).ok();
    if spec.needs_body() && stored.is_some_and(|stored| !stored.store_html) {
        let field = match spec.include.needs_body() {
            true => field,
            false => "format",
        };
        let rule = "the pages were stored without their HTML (store_html was false)";
        return Err(ApiError::invalid(field, rule));
    }
    Ok(())
}

/// Reads `include`.
pub(super) fn parse_include(list: Option<&str>) -> Result<Include, ApiError> {
    Include::parse(list.unwrap_or_default()).map_err(|error| ApiError::invalid("include", error))
}

/// Checks an HTTP status.
pub(super) fn check_status(status: Option<u16>) -> Result<Option<u16>, ApiError> {
    match status {
        Some(status) if !(100..=999).contains(&status) => {
            Err(ApiError::invalid("status", "must be between 100 and 999"))
        }
        status => Ok(status),
    }
}

fn check_after(after: Option<i64>) -> Result<i64, ApiError> {
    let after = after.unwrap_or(0);
    if after < 0 {
        return Err(ApiError::invalid("after", "must be at least 0"));
    }
    Ok(after)
}

/// Answers with an export of the run; `field` asked for the content.
pub(super) async fn answer(
    ctx: &Ctx,
    run: &Run,
    spec: ExportSpec,
    field: &str,
) -> Result<Response, ApiError> {
    let app = &ctx.app;
    check_body(run, &spec, field)?;
    let permit = app
        .crawls
        .exports
        .enter(run.project)
        .map_err(|error| ApiError::rate_limited(error.to_string(), RETRY_AFTER))?;
    let mut export = Export::new(&app.store, &app.pipeline, run, spec, Some(permit)).await?;
    // A failure before anything is sent is answered like any other error.
    let first = export.next().await?;
    let rest = stream::try_unfold(export, |mut export| async move {
        let piece = export.next().await.inspect_err(|error| {
            tracing::error!(%error, "export aborted");
        })?;
        Ok::<_, ScanError>(piece.map(|piece| (piece, export)))
    });
    let body = Body::from_stream(stream::iter(first.map(Ok)).chain(rest));
    Ok(([(CONTENT_TYPE, spec.format.content_type())], body).into_response())
}
