//! DELETE /v1/crons/{id}.

use http::StatusCode;

use super::path::{MonitorPath, no_monitor};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// Removes a monitor. Its runs stay, and one that is running goes on.
#[utoipa::path(
    delete,
    path = "/v1/crons/{id}",
    tag = "Monitors",
    params(("id" = i64, Path, description = "The monitor")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "No such monitor in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn delete_cron(
    ctx: Ctx,
    MonitorPath(id): MonitorPath,
) -> Result<StatusCode, ApiError> {
    if ctx
        .app
        .store
        .delete_monitor(ctx.principal.project, id)
        .await?
    {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(no_monitor())
    }
}
