//! GET /v1/plugins/{name}/calls and GET /v1/plugins/{name}/calls/{id}.

use axum::Json;
use axum::extract::Path;
use orbweaver_store::PluginCall;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::records::{Origin, RecordParams, next_before, owner};
use super::scope::{Scope, ScopeParams};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// Failed calls of a plugin.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginCalls {
    /// Newest first.
    items: Vec<FailedPluginCall>,
    /// `before` of the next page; null if there is none.
    next_before: Option<i64>,
}

/// A failed call.
#[derive(Serialize, ToSchema)]
pub(super) struct FailedPluginCall {
    /// Its id; later calls have larger ones.
    id: i64,
    #[serde(flatten)]
    origin: Origin,
    /// SHA-256 of the component, lower-case hex.
    digest: String,
    /// What was called and with what: `kind`, and by kind `role`, `options` and `page`, `input`,
    /// `domain`, `path` and `params`, or `point`, `config`, `url` and `page`. Credentials are `***`.
    #[schema(value_type = Object)]
    input: Value,
    /// SHA-256 of the whole input: equal for equal inputs.
    input_digest: String,
    /// How it failed.
    error: CallError,
    /// CPU time in milliseconds.
    cpu_ms: f64,
    /// Wall time in milliseconds.
    wall_ms: f64,
    /// Largest memory in bytes.
    memory_bytes: u64,
    /// Whether it can be made again.
    replayable: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    not_replayable: Option<String>,
    /// The page's text; only of a single call, if the page has at most 256 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    body: Option<String>,
}

/// The error of a call.
#[derive(Serialize, ToSchema)]
#[schema(as = PluginCallError)]
pub(super) struct CallError {
    /// Its code, as in the errors of a scan.
    pub(super) code: String,
    /// For people; credentials are `***`.
    pub(super) message: String,
}

impl From<(i64, PluginCall)> for FailedPluginCall {
    fn from((id, call): (i64, PluginCall)) -> Self {
        let ms = |micros: u64| micros as f64 / 1e3;
        Self {
            id,
            origin: Origin::new(call.at, call.origin),
            digest: call.digest,
            input: serde_json::from_str(&call.input).unwrap_or_default(),
            input_digest: call.input_digest,
            error: CallError {
                code: call.code,
                message: call.message,
            },
            cpu_ms: ms(call.cpu_us),
            wall_ms: ms(call.wall_us),
            memory_bytes: call.memory,
            replayable: call.not_replayable.is_empty(),
            not_replayable: Some(call.not_replayable).filter(|why| !why.is_empty()),
            body: call.body,
        }
    }
}

/// Failed calls of a plugin for the caller's project, with their inputs. The last 50 are kept, with 4 MiB
/// together, for some days (`retention.plugin_records_days`); under pressure calls may be missing.
#[utoipa::path(
    get,
    path = "/v1/plugins/{name}/calls",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        RecordParams,
    ),
    responses(
        (status = 200, description = "The calls", body = PluginCalls),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no plugin of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn plugin_calls(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<RecordParams>,
) -> JsonAnswer<PluginCalls> {
    let scope = Scope::check(&ctx, query.0.scope.as_deref()).await?;
    let page = query.0.page()?;
    let owner = owner(scope, &ctx, &given).await?;
    ctx.app.actors.journal.written().await;
    let calls = ctx.app.store.plugin_calls(&owner, &page).await?;
    let next_before = next_before(calls.iter().map(|(id, _)| *id), page.limit);
    Ok(Json(PluginCalls {
        items: calls.into_iter().map(FailedPluginCall::from).collect(),
        next_before,
    }))
}

/// A failed call with the text of its page.
#[utoipa::path(
    get,
    path = "/v1/plugins/{name}/calls/{id}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        ("id" = i64, Path, description = "The call's id"),
        ScopeParams,
    ),
    responses(
        (status = 200, description = "The call", body = FailedPluginCall),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no such plugin or call", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn plugin_call(
    ctx: Ctx,
    Path((given, id)): Path<(String, String)>,
    query: Query<ScopeParams>,
) -> JsonAnswer<FailedPluginCall> {
    let scope = query.0.check(&ctx).await?;
    let id = call_id(&id)?;
    let call = find(scope, &ctx, &given, id).await?.1;
    Ok(Json(FailedPluginCall::from((id, call))))
}

/// The id of a call; one that is no number is no call's.
pub(super) fn call_id(given: &str) -> Result<i64, ApiError> {
    let id = given.parse();
    id.map_err(|_| ApiError::not_found(format!("no failed call {given} of this plugin is kept")))
}

/// A failed call for the caller's project, and the name of its plugin.
pub(super) async fn find(
    scope: Scope,
    ctx: &Ctx,
    given: &str,
    id: i64,
) -> Result<(orbweaver_store::StateOwner, PluginCall), ApiError> {
    let owner = owner(scope, ctx, given).await?;
    ctx.app.actors.journal.written().await;
    let call = ctx.app.store.plugin_call(&owner, id).await?;
    let missing = || ApiError::not_found(format!("no failed call {id} of this plugin is kept"));
    Ok((owner, call.ok_or_else(missing)?))
}
