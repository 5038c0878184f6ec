//! POST /v1/actors/{name}/runs.

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use http::{HeaderValue, StatusCode, header};
use orbweaver_actors::jobs::{self, JobRequest};
use orbweaver_core::ids::JobId;
use orbweaver_store::Amount;
use orbweaver_store::jobs::{Job, JobCreated};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::super::input::accepted;
use super::answer::Status;
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::IdempotencyHeader;
use crate::input::{Payload, Query};
use crate::validate;

/// Seconds after which a place may be free again: runs have no known end.
const RETRY_AFTER: u64 = 10;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// Where the event `actor.run_complete` is sent when the run is done or has failed: an
    /// absolute http or https URL.
    #[param(format = "uri")]
    webhook_url: Option<String>,
}

/// A run by its reference.
#[derive(Serialize, ToSchema)]
#[schema(as = ActorRunReference)]
pub(super) struct Reference {
    #[schema(value_type = i64)]
    id: JobId,
    /// The actor.
    actor: String,
    status: Status,
    enqueued_at: DateTime<Utc>,
}

/// Runs an actor in the background.
///
/// The answer comes at once; the run is followed by its id. It has the time limit of runs
/// (`jobs.max_seconds`) instead of that of requests. If its process dies, another one starts it
/// again from the beginning, a limited number of times. It is billed as a request for the same,
/// once, at its end; an attempt whose process died costs nothing. A request with the
/// Idempotency-Key of an earlier one and the same body gets the earlier one's run.
#[utoipa::path(
    post,
    path = "/v1/actors/{name}/runs",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The actor's name", example = "check-links"),
        Params,
        IdempotencyHeader,
    ),
    request_body(
        content = Object,
        description = "By the actor's input schema",
        example = json!({"url": "https://example.com/"}),
    ),
    responses(
        (status = 202, description = "The run is queued", body = Reference,
            headers(("Location" = String, description = "Where to follow it"))),
        (status = 404, description = "No such actor is loaded", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn create_run(
    ctx: Ctx,
    Path(name): Path<String>,
    query: Query<Params>,
    mut payload: Payload<Value>,
) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    accepted(&ctx, &name, &mut payload.value).await?;
    let webhook_url = query.0.webhook_url.as_deref();
    if let Some(url) = webhook_url {
        validate::url(app, "webhook_url", url)?;
    }
    let digest = payload.digest();
    let key = ctx.idempotency_key.map(|key| key.to_string());
    let request = JobRequest {
        actor: &name,
        input: &payload.value,
        request_id: ctx.scope.id(),
        webhook_url,
        idem: key.as_deref().map(|key| (key, &digest)),
    };
    // A run needs a page at least; the reservation goes back at once.
    let reserved = app.accounts.quota.reserve(project, Amount::pages(1)).await;
    if let Err(refused) = reserved {
        // A retry of what was accepted before is answered even at a cap.
        return match jobs::submitted(&app.actors, project, &request).await? {
            Some(before) => answer(app, before),
            None => Err(refused.into()),
        };
    }
    let created = jobs::submit(&app.actors, project, &request).await?;
    answer(app, created)
}

fn answer(app: &App, created: JobCreated) -> Result<Response, ApiError> {
    match created {
        JobCreated::New(job) => reference(*job),
        JobCreated::Replayed(job) => {
            let mut response = reference(*job)?;
            crate::crawls::mark_replayed(&mut response);
            Ok(response)
        }
        JobCreated::OtherBody => Err(ApiError::conflict(
            "Idempotency-Key: this key was used with another body within 24 hours",
        )),
        JobCreated::QueueFull => Err(ApiError::rate_limited(
            format!(
                "as many runs of actors are queued and running as a project may have: {} (setting \
                 jobs.queue_per_project)",
                app.actors.job_config.queue_per_project
            ),
            RETRY_AFTER,
        )),
        JobCreated::InputsFull => Err(ApiError::rate_limited(
            format!(
                "the inputs of the project's queued and running runs of actors would have more than \
                 {} MiB (setting jobs.queue_mib_per_project)",
                app.actors.job_config.queue_mib_per_project
            ),
            RETRY_AFTER,
        )),
    }
}

fn reference(job: Job) -> Result<Response, ApiError> {
    let location = HeaderValue::try_from(format!("/v1/actors/{}/runs/{}", job.actor, job.id))
        .map_err(|error| ApiError::internal(&error))?;
    let reference = Reference {
        id: job.id,
        status: job.status.into(),
        actor: job.actor,
        enqueued_at: job.enqueued_at,
    };
    let mut response = (StatusCode::ACCEPTED, Json(reference)).into_response();
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}
