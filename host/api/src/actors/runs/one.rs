//! GET /v1/actors/{name}/runs/{id}.

use axum::Json;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::answer::Run;
use super::path::{ActorRunPath, no_run};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// An actor's run.
#[derive(Serialize, ToSchema)]
#[schema(as = ActorRun)]
pub(super) struct Detail {
    #[serde(flatten)]
    run: Run,
    /// Whether it was cancelled, and ends as soon as it can.
    cancel_requested: bool,
    /// Null without a webhook, and until the run has ended; `pending`, `delivered` or `dead`.
    webhook_status: Option<String>,
    webhook_attempts: u32,
    webhook_last_error: Option<String>,
    /// The actor's answer, once it is done: `data` of a request for the same.
    #[schema(value_type = Option<Object>)]
    result: Option<Box<RawValue>>,
}

/// A run, and where it stands. Poll every 2 to 5 seconds, or follow its events.
#[utoipa::path(
    get,
    path = "/v1/actors/{name}/runs/{id}",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The actor's name"),
        ("id" = i64, Path, description = "The run"),
    ),
    responses(
        (status = 200, description = "The run", body = Detail),
        (status = 404, description = "No such run of this actor in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn get_run(ctx: Ctx, path: ActorRunPath) -> JsonAnswer<Detail> {
    let (store, project) = (&ctx.app.store, ctx.principal.project);
    let found = store.job_result(project, path.id).await?;
    let (job, result) = found
        .filter(|(job, _)| job.actor == path.actor)
        .ok_or_else(no_run)?;
    let webhook = match job.status.is_over() && job.webhook_url.is_some() {
        true => store.job_webhook(project, path.id).await?,
        false => None,
    };
    let result = result
        .map(RawValue::from_string)
        .transpose()
        .map_err(|error| ApiError::internal(&error))?;
    Ok(Json(Detail {
        cancel_requested: job.cancel_requested,
        run: job.into(),
        webhook_attempts: webhook.as_ref().map_or(0, |webhook| webhook.attempts),
        webhook_last_error: webhook.as_ref().and_then(|hook| hook.last_error.clone()),
        webhook_status: webhook.map(|webhook| webhook.status),
        result,
    }))
}
