//! POST /v1/actors/{name}.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::input::accepted;
use crate::answer::raw_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use orbweaver_actors as actors;

/// An actor's answer.
#[derive(Serialize, ToSchema)]
pub(super) struct ActorAnswer {
    /// The actor.
    actor: String,
    /// The URL of the input, or the path of the crawl that it names; null where it has
    /// neither.
    #[schema(required = true)]
    url: Option<String>,
    /// How long it took, in milliseconds.
    elapsed_ms: u64,
    /// The actor's output; `GET /v1/actors` has its schema.
    #[schema(value_type = Object)]
    data: Value,
}

/// Runs an actor.
///
/// Any actor that is loaded; `GET /v1/actors` lists them. Billed by what the actor is: the
/// contract's own one page, or one per URL that they probe; others one page per distinct URL
/// that answered, at least one, and one cloud page per rendering.
#[utoipa::path(
    post,
    path = "/v1/actors/{name}",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The actor's name", example = "check-links"),
        IdempotencyHeader,
    ),
    request_body(
        content = Object,
        description = "By the actor's input schema",
        example = json!({"url": "https://example.com/"}),
    ),
    responses(
        (status = 200, description = "The actor's answer", body = ActorAnswer),
        (status = 404, description = "No such actor is loaded", body = ErrorBody),
        (status = 501, description = "The actor needs a backend that is not configured", body = ErrorBody),
        (status = 502, description = "A page that the actor needs could not be fetched", body = ErrorBody),
        CommonErrors,
        (status = 503, description = "The plugin is in quarantine, because its last calls crashed, or the database or the blob store is not available; see `Retry-After`", body = ErrorBody),
        BodyErrors,
    )
)]
pub(super) async fn run_actor(
    ctx: Ctx,
    Path(name): Path<String>,
    payload: Payload<Value>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let mut input = payload.value;
    accepted(&ctx, &name, &mut input).await?;
    let (app, principal) = (ctx.app.clone(), ctx.principal.clone());
    let request_id = ctx.scope.id().to_owned();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let token = token.whole();
        let call = actors::ActorCall {
            name: &name,
            input: &input,
            token: &token,
            request_id: &request_id,
        };
        match actors::run_actor(&app.actors, &principal, &call).await {
            Ok(json) => raw_json(json),
            Err(error) => ApiError::from(error).into_response(),
        }
    })
    .await)
}
