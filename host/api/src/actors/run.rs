//! POST /v1/actors/{name}.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use orbweaver_engine::{Engine, Kind, PluginInfo};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::raw_json;
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate::shown;
use crate::warnings::unknown_members;
use orbweaver_actors as actors;

/// An actor's answer.
#[derive(Serialize, ToSchema)]
pub(super) struct ActorAnswer {
    /// The actor.
    actor: String,
    /// The URL of the input, or the path of the crawl that it names; null where it has
    /// neither.
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
        (status = 503, description = "The plugin is in quarantine: its last calls crashed", body = ErrorBody),
        CommonErrors,
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

/// Checks that the actor is loaded and takes this input. Members that are null and not required are
/// taken out of it: null is an optional field that is not given, as in all other bodies.
///
/// # Errors
/// 404 for an unknown actor; 422 for an input that its schema or the guard refuses.
pub(super) async fn accepted(ctx: &Ctx, name: &str, input: &mut Value) -> Result<(), ApiError> {
    let engine = ctx.engine();
    engine.await_plugin(Kind::Actor, name).await;
    let actor = engine.actor(name);
    let actor = actor.ok_or_else(|| missing(&engine, name))?;
    if let Some(schema) = &actor.input_schema {
        ctx.scope.note_unknown(unknown_members(schema, input));
        drop_absent(schema, input);
    }
    check(&ctx.app, &engine, &actor, input).await
}

fn drop_absent(schema: &Value, input: &mut Value) {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
    };
    if let Some(members) = input.as_object_mut() {
        members.retain(|name, value| !value.is_null() || is_required(name));
    }
}

/// The schema, then the guard: both before an Idempotency-Key is claimed.
async fn check(
    app: &App,
    engine: &Engine,
    actor: &PluginInfo,
    input: &Value,
) -> Result<(), ApiError> {
    engine
        .check_input(actor.kind, &actor.name, input)
        .await
        .map_err(|error| ApiError::breaks(error.to_string()))?;
    actors::check_urls(&app.actors, actor, input).map_err(ApiError::breaks)
}

fn missing(engine: &Engine, name: &str) -> ApiError {
    let names: Vec<String> = actors::directory(engine)
        .into_iter()
        .map(|actor| actor.name)
        .collect();
    let there = if names.is_empty() {
        "no actor is loaded".to_owned()
    } else {
        format!("loaded are {}", names.join(", "))
    };
    ApiError::not_found(format!("there is no actor `{}`: {there}", shown(name)))
}
