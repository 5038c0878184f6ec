//! POST /v1/cloud/fetch/{domain} and /v1/cloud/fetch/{domain}/{path}.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::answer::raw_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::OptionalPayload;
use crate::validate::shown;
use crate::warnings::unknown_members;
use orbweaver_actors as actors;
use orbweaver_core::json_number;

/// A fetcher's answer.
#[derive(Serialize, ToSchema)]
pub(super) struct FetcherAnswer {
    /// Items; `GET /v1/cloud/scrapers` tells their shape.
    #[schema(value_type = Vec<Object>)]
    data: Vec<Value>,
    /// What it cost, in US dollars.
    cost_usd: f64,
    /// How long it took, in milliseconds.
    elapsed_ms: u64,
}

/// Structured data of a domain that has a fetcher of its own.
///
/// The body may hold parameters, at top level or under `params`. Billed one cloud page when
/// the domain answered.
#[utoipa::path(
    post,
    path = "/v1/cloud/fetch/{domain}",
    tag = "Cloud",
    params(
        ("domain" = String, Path, description = "A domain of the directory", example = "news.ycombinator.com"),
        IdempotencyHeader,
    ),
    request_body(
        content = Option<Object>,
        description = "Parameters of the fetcher, if any",
        example = json!({}),
    ),
    responses(
        (status = 200, description = "The items", body = FetcherAnswer),
        (status = 501, description = "The fetcher lacks something in its configuration", body = ErrorBody),
        (status = 502, description = "The domain could not be reached", body = ErrorBody),
        CommonErrors,
        (status = 503, description = "The plugin is in quarantine, because its last calls crashed, or the database or the blob store is not available; see `Retry-After`", body = ErrorBody),
        BodyErrors,
    )
)]
pub(super) async fn fetch_domain(
    ctx: Ctx,
    Path(domain): Path<String>,
    payload: OptionalPayload<Map<String, Value>>,
) -> Result<Response, ApiError> {
    fetch(ctx, domain, String::new(), payload).await
}

/// Structured data of one path of a domain that has a fetcher of its own.
#[utoipa::path(
    post,
    path = "/v1/cloud/fetch/{domain}/{*path}",
    tag = "Cloud",
    params(
        ("domain" = String, Path, description = "A domain of the directory", example = "crates.io"),
        ("path" = String, Path, description = "One of its paths; may hold slashes", example = "crates/serde"),
        IdempotencyHeader,
    ),
    request_body(
        content = Option<Object>,
        description = "Parameters of the fetcher, if any",
        example = json!({}),
    ),
    responses(
        (status = 200, description = "The items", body = FetcherAnswer),
        (status = 501, description = "The fetcher lacks something in its configuration", body = ErrorBody),
        (status = 502, description = "The domain could not be reached", body = ErrorBody),
        CommonErrors,
        (status = 503, description = "The plugin is in quarantine, because its last calls crashed, or the database or the blob store is not available; see `Retry-After`", body = ErrorBody),
        BodyErrors,
    )
)]
pub(super) async fn fetch_domain_path(
    ctx: Ctx,
    Path((domain, path)): Path<(String, String)>,
    payload: OptionalPayload<Map<String, Value>>,
) -> Result<Response, ApiError> {
    fetch(ctx, domain, path, payload).await
}

async fn fetch(
    ctx: Ctx,
    domain: String,
    path: String,
    payload: OptionalPayload<Map<String, Value>>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let mut params = flattened(payload.value)?;
    json_number::write_integers(&mut params);
    let engine = &ctx.engine();
    engine.await_fetchers().await;
    let Some(fetcher) = engine.fetcher_for(&domain) else {
        if let Some(error) = engine.unloaded_fetcher(&domain) {
            return Err(ApiError::plugin_failed(error.to_string()));
        }
        return Err(ApiError::invalid(
            "domain",
            format!(
                "there is no fetcher for `{}`; GET /v1/cloud/scrapers lists those there are",
                shown(&domain)
            ),
        ));
    };
    if let Some(schema) = &fetcher.input_schema {
        ctx.scope.note_unknown(unknown_members(schema, &params));
    }
    engine
        .check_input(fetcher.kind, &fetcher.name, &params)
        .await
        .map_err(|error| ApiError::breaks(error.to_string()))?;
    let (app, principal) = (ctx.app.clone(), ctx.principal.clone());
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let token = token.whole();
        let path = path.trim_matches('/');
        match actors::run_fetcher(&app.actors, &principal, &domain, path, &params, &token).await {
            Ok(json) => raw_json(json),
            Err(error) => ApiError::from(error).into_response(),
        }
    })
    .await)
}

/// Parameters at top level and those under `params` count alike.
fn flattened(mut body: Map<String, Value>) -> Result<Value, ApiError> {
    match body.remove("params") {
        Some(Value::Object(inner)) => body.extend(inner),
        None | Some(Value::Null) => {}
        Some(_) => return Err(ApiError::invalid("params", "must be an object")),
    }
    Ok(Value::Object(body))
}
