//! GET /v1/crawls/{id}/orphans.

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_core::ids::PageId;
use serde::Serialize;
use utoipa::ToSchema;

use super::path::{self, RunPath};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};

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
pub(super) async fn list_orphans(ctx: Ctx, RunPath(id): RunPath) -> JsonAnswer<Orphans> {
    let run = path::run(&ctx, id).await?;
    let orphans = ctx.app.store.orphans(ctx.principal.project, run.id).await?;
    Ok(Json(Orphans {
        items: orphans
            .into_iter()
            .map(|page| OrphanItem {
                id: page.id,
                url: page.url,
                status: page.status,
                fetched_at: page.fetched_at,
            })
            .collect(),
    }))
}
