//! GET /v1/crons.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::view::View;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors};

/// The project's monitors.
#[derive(Serialize, ToSchema)]
#[schema(as = Monitors)]
pub(super) struct List {
    items: Vec<View>,
}

/// The project's monitors, paused ones included, oldest first.
#[utoipa::path(
    get,
    path = "/v1/crons",
    tag = "Monitors",
    responses((status = 200, description = "The monitors", body = List), CommonErrors)
)]
pub(super) async fn list_crons(ctx: Ctx) -> JsonAnswer<List> {
    let monitors = ctx.app.store.monitors(ctx.principal.project).await?;
    let items: Result<Vec<View>, ApiError> = monitors.into_iter().map(View::try_from).collect();
    Ok(Json(List { items: items? }))
}
