//! DELETE /v1/actors/{name}/runs/{id}.

use http::StatusCode;

use super::path::{self, ActorRunPath, no_run};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// Cancels a run if it is running, and removes it with its items. No webhook is sent.
///
/// It is gone at once; its items are removed in the background. What it fetched is billed.
#[utoipa::path(
    delete,
    path = "/v1/actors/{name}/runs/{id}",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The actor's name"),
        ("id" = i64, Path, description = "The run"),
    ),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "No such run of this actor in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn delete_run(ctx: Ctx, path: ActorRunPath) -> Result<StatusCode, ApiError> {
    path::run(&ctx, &path).await?;
    let (app, project) = (&ctx.app, ctx.principal.project);
    if !app.store.delete_job(project, path.id).await? {
        return Err(no_run());
    }
    app.actors.jobs.forget(path.id);
    Ok(StatusCode::NO_CONTENT)
}
