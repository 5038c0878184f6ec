//! DELETE /v1/crawls/{id}.

use http::StatusCode;

use super::path::RunPath;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// Cancels a run if it is running, and removes it with all its pages. No webhook is sent.
///
/// It is gone at once; its rows are removed in the background.
#[utoipa::path(
    delete,
    path = "/v1/crawls/{id}",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The run")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn delete_crawl(ctx: Ctx, RunPath(id): RunPath) -> Result<StatusCode, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    if !app.store.delete_run(project, id, app.clock.now()).await? {
        return Err(ApiError::not_found(
            "there is no such crawl in this project",
        ));
    }
    app.crawls.live.forget(id);
    app.crawls.deletions.notify_one();
    Ok(StatusCode::NO_CONTENT)
}
