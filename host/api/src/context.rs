//! The context of a handler: the caller and the service.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;
use orbweaver_engine::Engine;
use orbweaver_pipeline::Pipeline;
use orbweaver_store::Principal;
use uuid::Uuid;

use super::error::ApiError;
use super::scope::Scope;
use crate::app::App;

/// An authenticated request.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// The service.
    pub app: App,
    /// The owner of its key.
    pub principal: Arc<Principal>,
    /// The request.
    pub scope: Scope,
    /// The caller's `Idempotency-Key`.
    pub idempotency_key: Option<Uuid>,
    /// The request's path.
    pub path: String,
}

impl Ctx {
    /// The plugins that the caller's project may use: its own first.
    pub(crate) fn engine(&self) -> Engine {
        self.app.pipeline.engine.of_project(self.principal.project)
    }

    /// The pipeline with the plugins of the caller's project.
    pub(crate) fn pipeline(&self) -> Pipeline {
        self.app.pipeline.of_project(self.principal.project)
    }
}

/// Marks a request that this process makes itself, for a caller whose key is already accepted.
/// A request from the network can't have it.
#[derive(Clone, Debug)]
pub(crate) struct Admitted(pub(crate) Ctx);

impl FromRequestParts<App> for Ctx {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if let Some(Admitted(ctx)) = parts.extensions.get::<Admitted>() {
            return Ok(Self {
                path: parts.uri.path().to_owned(),
                ..ctx.clone()
            });
        }
        let Some(scope) = parts.extensions.get::<Scope>().cloned() else {
            return Err(ApiError::internal(&"the scope layer is missing"));
        };
        let principal = admit(app, &scope, bearer(parts)?).await?;
        let idempotency_key = match parts.headers.get("idempotency-key") {
            None => None,
            Some(value) => Some(
                value
                    .to_str()
                    .ok()
                    .and_then(|text| Uuid::try_parse(text.trim()).ok())
                    .ok_or_else(|| ApiError::invalid("Idempotency-Key", "must be a UUID"))?,
            ),
        };
        Ok(Self {
            app: app.clone(),
            principal,
            scope,
            idempotency_key,
            path: parts.uri.path().to_owned(),
        })
    }
}

/// Authenticates the key and counts one request of it.
///
/// # Errors
/// 401 for an invalid key, 429 beyond its rate limit, 403 for a suspended project.
pub(crate) async fn admit(app: &App, scope: &Scope, key: &str) -> Result<Arc<Principal>, ApiError> {
    let keys = &app.accounts.keys;
    // Lookups of unknown keys run one at a time, so that a flood of guesses uses one
    // of its connections. A key that is valid is not refused for its neighbours' guesses.
    let guesses = scope
        .client_ip()
        .is_some_and(|ip| app.rates.is_keyless_empty(ip));
    let turn = match guesses && !keys.has_seen(key) {
        true => keys.doubtful_turn().await,
        false => None,
    };
    let now = app.clock.now();
    let Some(principal) = keys.authenticate(key, now).await? else {
        return Err(ApiError::unauthorized("the key is not valid"));
    };
    drop(turn);
    scope.identify(&principal, now);
    match app.rates.count_project(principal.project) {
        Ok(verdict) => verdict
            .into_iter()
            .for_each(|verdict| scope.note_rate(verdict)),
        Err(refused) => {
            let refusal = refused.refusal();
            scope.note_rate(refused);
            return Err(refusal);
        }
    }
    if principal.suspended {
        return Err(ApiError::forbidden("the project is suspended"));
    }
    Ok(principal)
}

fn bearer(parts: &Parts) -> Result<&str, ApiError> {
    let Some(value) = parts.headers.get(AUTHORIZATION) else {
        return Err(ApiError::unauthorized(
            "the key is missing; send `Authorization: Bearer <API_KEY>`",
        ));
    };
    value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim())
        .ok_or_else(|| {
            ApiError::unauthorized("the key must be sent as `Authorization: Bearer <API_KEY>`")
        })
}
