//! GET /v1/crons/{id}.

use axum::Json;

use super::path::{MonitorPath, no_monitor};
use super::view::View;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};

/// One monitor.
#[utoipa::path(
    get,
    path = "/v1/crons/{id}",
    tag = "Monitors",
    params(("id" = i64, Path, description = "The monitor")),
    responses(
        (status = 200, description = "The monitor", body = View),
        (status = 404, description = "No such monitor in this project", body = ErrorBody),
        CommonErrors,
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn get_cron(ctx: Ctx, MonitorPath(id): MonitorPath) -> JsonAnswer<View> {
    let monitor = ctx.app.store.monitor(ctx.principal.project, id).await?;
    Ok(Json(monitor.ok_or_else(no_monitor)?.try_into()?))
}
