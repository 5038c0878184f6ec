//! Code shared by the lists of a plugin's log lines and of its calls.

use chrono::{DateTime, Utc};
use orbweaver_store::{RecordOrigin, RecordPage, StateOwner};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::scope::{Scope, ScopeWord};
use crate::context::Ctx;
use crate::error::ApiError;

/// Longest `X-Request-Id` that is looked for, in characters.
const MAX_REQUEST_ID: usize = 64;

/// The query of such a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RecordParams {
    /// `instance` or `project`; see `GET /v1/plugins`.
    #[param(value_type = Option<ScopeWord>, inline, example = "project")]
    pub(super) scope: Option<String>,
    /// How many, newest first.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
    /// Only those with a smaller id: `next_before` of the page before.
    #[param(minimum = 1)]
    before: Option<i64>,
    /// Only those of the request with this id.
    #[param(max_length = 64)]
    request_id: Option<String>,
}

impl RecordParams {
    /// Which records are meant.
    pub(super) fn page(&self) -> Result<RecordPage<'_>, ApiError> {
        let limit = self.limit.unwrap_or(100);
        if !(1..=500).contains(&limit) {
            return Err(ApiError::invalid("limit", "must be between 1 and 500"));
        }
        let before = self.before.unwrap_or(i64::MAX);
        if before < 1 {
            return Err(ApiError::invalid("before", "must be at least 1"));
        }
        let request_id = self.request_id.as_deref().unwrap_or_default();
        if request_id.chars().count() > MAX_REQUEST_ID {
            return Err(ApiError::invalid(
                "request_id",
                "must be at most 64 characters",
            ));
        }
        if request_id.contains(char::is_control) {
            let rule = "must not contain control characters";
            return Err(ApiError::invalid("request_id", rule));
        }
        Ok(RecordPage {
            before,
            limit,
            levels: &[],
            request_id,
        })
    }
}

/// Whose records are meant by `{name}`: those of a plugin that serves or that was uploaded, of the calls
/// for the caller's project.
pub(super) async fn owner(scope: Scope, ctx: &Ctx, given: &str) -> Result<StateOwner, ApiError> {
    let (kind, name) = match scope.served(ctx, given).await {
        Ok(plugin) => (plugin.kind.as_str().to_owned(), plugin.name),
        Err(missing) => match scope.find(ctx, given).await {
            Ok(key) => (key.kind, key.name),
            Err(_) => return Err(missing),
        },
    };
    Ok(StateOwner {
        project: ctx.principal.project,
        own: scope.owner().is_some(),
        kind,
        name,
    })
}

/// What a line or a call is part of.
#[derive(Serialize, ToSchema)]
pub(super) struct Origin {
    /// When.
    pub(super) at: DateTime<Utc>,
    /// The version of the plugin's manifest.
    version: String,
    /// The `X-Request-Id` of the request; null for a crawl.
    request_id: Option<String>,
    /// `crawl` or `actor`, if it is part of a run.
    run_kind: Option<String>,
    /// The run's id.
    run_id: Option<i64>,
}

impl Origin {
    pub(super) fn new(at: DateTime<Utc>, origin: RecordOrigin) -> Self {
        let some = |text: String| (!text.is_empty()).then_some(text);
        Self {
            at,
            version: origin.version,
            request_id: some(origin.request_id),
            run_kind: some(origin.run_kind),
            run_id: origin.run_id,
        }
    }
}

/// The value of `before` for the next page, if this one is full.
pub(super) fn next_before(ids: impl ExactSizeIterator<Item = i64>, limit: u32) -> Option<i64> {
    let is_full = ids.len() == limit as usize;
    ids.last().filter(|_| is_full)
}
