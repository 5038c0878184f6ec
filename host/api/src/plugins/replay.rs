//! POST /v1/plugins/{name}/calls/{id}/replay.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::StatusCode;
use orbweaver_actors::{self as actors, ActorCall};
use orbweaver_engine::{Engine, Page, PageParts, PluginError, PluginInfo, RoleCall, Source};
use orbweaver_store::{Amount, PluginCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::calls::{CallError, call_id, find};
use super::scope::{Scope, ScopeParams};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader, UsageToken};
use crate::input::Query;

/// What a call answers that is made again.
#[derive(Serialize, ToSchema)]
struct Replay {
    /// The failed call.
    call: i64,
    /// The version of the plugin that was called now.
    version: String,
    /// SHA-256 of its component, lower-case hex.
    digest: String,
    /// Whether it succeeded.
    ok: bool,
    /// Its answer.
    #[schema(value_type = Option<Object>)]
    result: Option<Box<RawValue>>,
    /// Its error.
    error: Option<CallError>,
    /// How long it took, in milliseconds.
    elapsed_ms: u64,
}

/// An input as it is kept.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Input {
    Extractor {
        role: String,
        options: Value,
        page: StoredPage,
    },
    Actor {
        input: Value,
    },
    Fetcher {
        domain: String,
        path: String,
        params: Value,
    },
    Hook {},
}

#[derive(Deserialize)]
struct StoredPage {
    url: String,
    final_url: String,
    status: u16,
    headers: Vec<(String, String)>,
}

/// Makes a failed call again, with its kept input and the version of the plugin that serves now. It is a
/// call like any other: within the same limits, and billed as one (a page for an extractor, as a scan).
/// Its failure is kept like any other.
#[utoipa::path(
    post,
    path = "/v1/plugins/{name}/calls/{id}/replay",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        ("id" = i64, Path, description = "The call's id"),
        ScopeParams,
        IdempotencyHeader,
    ),
    responses(
        (status = 200, description = "The answer or the error of the plugin", body = Replay),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no such plugin or call", body = ErrorBody),
        (status = 409, description = "The call can't be made again: its input is not kept as a whole, or another plugin serves now", body = ErrorBody),
        CommonErrors,
        (status = 503, description = "The plugin is in quarantine, because its last calls crashed, or the database or the blob store is not available; see `Retry-After`", body = ErrorBody),
    )
)]
pub(super) async fn replay_plugin_call(
    ctx: Ctx,
    Path((given, id)): Path<(String, String)>,
    query: Query<ScopeParams>,
) -> Result<Response, ApiError> {
    let scope = query.0.check(&ctx).await?;
    let id = call_id(&id)?;
    let (owner, call) = find(scope, &ctx, &given, id).await?;
    if !call.not_replayable.is_empty() {
        let why = &call.not_replayable;
        return Err(ApiError::conflict(format!(
            "the call can't be made again: {why}"
        )));
    }
    let kind = orbweaver_actors::plugins::kind(&owner.kind);
    let engine = ctx.engine();
    engine.await_all().await;
    let plugin = kind.and_then(|kind| engine.plugin(kind, &owner.name));
    let plugin = plugin.filter(|plugin| {
        matches!(plugin.source, Source::Project(_)) == matches!(scope, Scope::Project(..))
    });
    let Some(plugin) = plugin else {
        return Err(not_serving());
    };
    let input = serde_json::from_str(&call.input).map_err(|error| ApiError::internal(&error))?;
    check(&ctx, &engine, &plugin, &input).await?;
    let work = Work {
        ctx: ctx.clone(),
        engine,
        plugin,
        id,
    };
    // The request has no body.
    Ok(idempotency::once(&ctx, &[0; 32], |token| async move {
        match work.run(input, call, token).await {
            Ok(replay) => (StatusCode::OK, Json(replay)).into_response(),
            Err(error) => error.into_response(),
        }
    })
    .await)
}

fn not_serving() -> ApiError {
    ApiError::conflict("the call can't be made again: another plugin, or none, serves it now")
}

/// Checks what a request for the same call would be checked for.
async fn check(
    ctx: &Ctx,
    engine: &Engine,
    plugin: &PluginInfo,
    input: &Input,
) -> Result<(), ApiError> {
    let given = match input {
        Input::Extractor { role, .. } => {
            let serving = engine.role(role);
            let is_it = serving.is_some_and(|serving| {
                serving.name == plugin.name && serving.digest == plugin.digest
            });
            return if is_it { Ok(()) } else { Err(not_serving()) };
        }
        Input::Fetcher { domain, params, .. } => {
            let serving = engine.fetcher_for(domain);
            if serving.is_none_or(|serving| serving.name != plugin.name) {
                return Err(not_serving());
            }
            params
        }
        Input::Actor { input } => {
            actors::check_urls(&ctx.app.actors, plugin, input).map_err(ApiError::breaks)?;
            input
        }
        Input::Hook {} => return Err(not_serving()),
    };
    engine
        .check_input(plugin.kind, &plugin.name, given)
        .await
        .map_err(|error| ApiError::breaks(error.to_string()))
}

/// A call that is about to be made again.
struct Work {
    ctx: Ctx,
    engine: Engine,
    plugin: PluginInfo,
    id: i64,
}

impl Work {
    async fn run(
        self,
        input: Input,
        call: PluginCall,
        token: UsageToken,
    ) -> Result<Replay, ApiError> {
        let started = Instant::now();
        let (app, principal) = (&self.ctx.app, &self.ctx.principal);
        let whole = token.whole();
        let done = match input {
            Input::Extractor {
                role,
                options,
                page,
            } => {
                let page = stored(page, call.body.unwrap_or_default());
                let call = RoleCall {
                    role,
                    options: options.to_string(),
                };
                self.extract(&page, call, whole).await?
            }
            Input::Actor { input } => {
                let call = ActorCall {
                    name: &self.plugin.name,
                    input: &input,
                    token: &whole,
                    request_id: self.ctx.scope.id(),
                };
                answered(actors::run_actor(&app.actors, principal, &call).await)?
            }
            Input::Fetcher {
                domain,
                path,
                params,
            } => {
                let actors = &app.actors;
                let answer =
                    actors::run_fetcher(actors, principal, &domain, &path, &params, &whole);
                answered(answer.await)?
            }
            Input::Hook {} => return Err(not_serving()),
        };
        let (result, error) = match done {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        Ok(Replay {
            call: self.id,
            version: self.plugin.version,
            digest: self.plugin.digest,
            ok: error.is_none(),
            result,
            error,
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Runs a role on a kept page, billed as a page.
    async fn extract(
        &self,
        page: &Arc<Page>,
        call: RoleCall,
        token: String,
    ) -> Result<Result<Box<RawValue>, CallError>, ApiError> {
        let (app, project) = (&self.ctx.app, self.ctx.principal.project);
        let amount = Amount::pages(1);
        let reserved = app
            .accounts
            .quota
            .reserve_for(project, amount, &token)
            .await;
        let mut reserved = reserved?;
        let _slot = app.scans.slots.acquire(project).await?;
        let answer = self.engine.extract(page, vec![call]).await.pop();
        if let Some(Err(PluginError::Quarantined { retry_after, .. })) = &answer {
            let seconds = retry_after.as_secs().saturating_add(1);
            let message = "the plugin is in quarantine: its last calls crashed";
            return Err(ApiError::plugin_refused(message, seconds));
        }
        let usage = reserved.usage(token, "replay", amount, 0);
        app.store.bill(usage).await?;
        match answer {
            Some(Ok(json)) => Ok(Ok(json.raw().to_owned())),
            Some(Err(error)) => Ok(Err(CallError {
                code: error.kind().to_owned(),
                message: error.to_string(),
            })),
            None => Err(ApiError::unexplained()),
        }
    }
}

fn stored(page: StoredPage, html: String) -> Arc<Page> {
    let html: Arc<str> = html.into();
    Page::new(PageParts {
        url: page.url,
        final_url: page.final_url,
        status: page.status,
        headers: page.headers,
        body: Arc::clone(&html).into(),
        html,
        ..PageParts::default()
    })
}

/// The answer of an actor or a fetcher, or its error; refusals that are no answer of the plugin are errors
/// of the request.
fn answered(
    done: Result<Bytes, actors::CallError>,
) -> Result<Result<Box<RawValue>, CallError>, ApiError> {
    match done {
        Ok(json) => {
            let json =
                String::from_utf8(json.into()).map_err(|error| ApiError::internal(&error))?;
            RawValue::from_string(json)
                .map(Ok)
                .map_err(|error| ApiError::internal(&error))
        }
        Err(
            error @ (actors::CallError::Invalid(_)
            | actors::CallError::Fetch(_)
            | actors::CallError::Plugin(_)
            | actors::CallError::TimedOut(_)),
        ) => Ok(Err(CallError {
            code: error.code().to_owned(),
            message: error.to_string(),
        })),
        Err(error) => Err(error.into()),
    }
}
