//! POST /v1/actors/{name}/runs/{id}/cancel.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::Status;
use super::path::{self, ActorRunPath, no_run};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// What became of a request to cancel.
#[derive(Serialize, ToSchema)]
#[schema(as = ActorRunCancelled)]
pub(super) struct Cancelled {
    id: i64,
    /// `running` until the actor has ended.
    status: Status,
}

/// Cancels a run, and keeps it with its items. A queued one is cancelled at once. A running actor
/// is told; one that does not end within a few seconds is ended. What it fetched is billed, and no
/// webhook is sent. A run that has ended stays as it is.
#[utoipa::path(
    post,
    path = "/v1/actors/{name}/runs/{id}/cancel",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The actor's name"),
        ("id" = i64, Path, description = "The run"),
    ),
    responses(
        (status = 202, description = "It is cancelled, or will be", body = Cancelled),
        (status = 404, description = "No such run of this actor in this project", body = ErrorBody),
        (status = 409, description = "It is done or has failed", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn cancel_run(ctx: Ctx, path: ActorRunPath) -> Result<Response, ApiError> {
    path::run(&ctx, &path).await?;
    let (app, project) = (&ctx.app, ctx.principal.project);
    let state = app
        .store
        .cancel_job(project, path.id, app.clock.now())
        .await?
        .ok_or_else(no_run)?;
    let status = Status::from(state);
    if matches!(status, Status::Done | Status::Failed) {
        return Err(ApiError::conflict(format!(
            "the run has ended: it is {state}"
        )));
    }
    app.actors.jobs.cancel(path.id);
    let id = path.id.get();
    Ok((StatusCode::ACCEPTED, Json(Cancelled { id, status })).into_response())
}
