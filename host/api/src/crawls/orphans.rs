//! GET /v1/crawls/{id}/orphans.

use axum::response::Response;
use chrono::{DateTime, Utc};
use orbweaver_core::ids::PageId;
use serde::Serialize;
use utoipa::ToSchema;

use super::path::{self, RunPath};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::memory_limit;

/// Pages that no other page of the run links to.
#[derive(Serialize, ToSchema)]
pub(super) struct Orphans {
    items: Vec<OrphanItem>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Orphan)]
struct OrphanItem {
    #[schema(value_type = i64)]
    id: PageId,
    url: String,
    /// HTTP status.
    status: u16,
    fetched_at: DateTime<Utc>,
}

/// Crawled pages that no other page of the run links to; the seed is left out.
///
/// A link to a URL that redirects counts for the page that it leads to.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/orphans",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The run")),
    responses(
        (status = 200, description = "The pages", body = Orphans),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_orphans(ctx: Ctx, RunPath(id): RunPath) -> Result<Response, ApiError> {
    let run = path::run(&ctx, id).await?;
    memory_limit::reserve_list(&ctx, run.page_count).await?;
    let orphans = ctx.app.store.orphans(ctx.principal.project, run.id).await?;
    let bytes = orphans.len() * memory_limit::LISTED_PAGE;
    let items = orphans.into_iter().map(|page| OrphanItem {
        id: page.id,
        url: page.url,
        status: page.status,
        fetched_at: page.fetched_at,
    });
    let items = items.collect();
    large_json(bytes, Orphans { items }).await
}
