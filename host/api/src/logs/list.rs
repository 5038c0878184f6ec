//! GET /v1/logs.

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_store::{LogEntry, LogFilter};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors};
use crate::input::Query;
use orbweaver_accounts::key;

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;
/// The largest whole number that every JSON reader keeps exactly.
const MAX_OFFSET: u64 = (1 << 53) - 1;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many entries.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
    /// How many of the newest to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Lowest HTTP status.
    #[param(minimum = 0, maximum = 999)]
    status_min: Option<u16>,
    /// Highest HTTP status.
    #[param(minimum = 0, maximum = 999)]
    status_max: Option<u16>,
    /// Extension: only requests with the key of this prefix (12 characters).
    #[param(pattern = "^orb_[A-Za-z0-9_-]{8}$")]
    key_prefix: Option<String>,
}

impl Params {
    fn filter(&self) -> Result<LogFilter, ApiError> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(ApiError::invalid("limit", "must be between 1 and 500"));
        }
        for (name, status) in [
            ("status_min", self.status_min),
            ("status_max", self.status_max),
        ] {
            if status.is_some_and(|status| status > 999) {
                return Err(ApiError::invalid(name, "must be between 0 and 999"));
            }
        }
        if self.offset.is_some_and(|offset| offset > MAX_OFFSET) {
            return Err(ApiError::invalid(
                "offset",
                "must be at most 9007199254740991",
            ));
        }
        if let Some(prefix) = &self.key_prefix
            && !key::is_prefix(prefix)
        {
            return Err(ApiError::invalid(
                "key_prefix",
                "must be the 12 characters that GET /v1/keys shows",
            ));
        }
        Ok(LogFilter {
            limit,
            offset: self.offset.unwrap_or(0),
            status_min: self.status_min,
            status_max: self.status_max,
            key_prefix: self.key_prefix.clone(),
        })
    }
}

/// Requests, newest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Logs {
    items: Vec<LogItem>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = LogEntry)]
struct LogItem {
    /// When the request arrived.
    ts: DateTime<Utc>,
    method: String,
    path: String,
    /// HTTP status of the answer; 499 if the client closed the connection before it.
    status: u16,
    duration_ms: u64,
    client_ip: String,
    /// The answer's `X-Request-Id`.
    request_id: String,
    /// First 12 characters of the key.
    key_prefix: String,
}

impl From<&LogEntry> for LogItem {
    fn from(entry: &LogEntry) -> Self {
        let entry = entry.clone();
        Self {
            ts: entry.ts,
            method: entry.method,
            path: entry.path,
            status: entry.status,
            duration_ms: entry.duration_ms,
            client_ip: entry.client_ip,
            request_id: entry.request_id,
            key_prefix: entry.key_prefix,
        }
    }
}

/// The project's requests, newest first.
#[utoipa::path(
    get,
    path = "/v1/logs",
    tag = "Usage and logs",
    params(Params),
    responses((status = 200, description = "Entries of the log", body = Logs), CommonErrors)
)]
pub(super) async fn list_logs(ctx: Ctx, query: Query<Params>) -> JsonAnswer<Logs> {
    let filter = query.0.filter()?;
    let entries = ctx.app.store.logs(ctx.principal.project, filter).await?;
    Ok(Json(Logs {
        items: entries
            .iter()
            .map(|entry| LogItem::from(&**entry))
            .collect(),
    }))
}
