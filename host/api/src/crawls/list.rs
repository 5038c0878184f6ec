//! GET /v1/crawls.

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, RunId};
use orbweaver_store::crawl::{RunFilter, RunItem, RunState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::words::{CANCELLED, CrawlStatus};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors};
use crate::input::Query;
use crate::validate;

const MAX_LIMIT: u32 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many runs.
    #[param(minimum = 1, maximum = 1_000, default = 100)]
    limit: Option<u32>,
    /// How many of the youngest to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Only runs in this state; `cancelled` ones are deleted, so there is none.
    #[param(value_type = Option<CrawlStatus>)]
    status: Option<String>,
    /// Only runs that this monitor started.
    #[param(minimum = 1)]
    monitor_id: Option<i64>,
}

/// Runs, the youngest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Crawls {
    items: Vec<RunListItem>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CrawlItem)]
struct RunListItem {
    #[schema(value_type = i64)]
    id: RunId,
    #[schema(value_type = CrawlStatus)]
    status: &'static str,
    url: String,
    page_count: u64,
    error_count: u64,
    enqueued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    /// The monitor that started it.
    #[schema(value_type = Option<i64>)]
    monitor_id: Option<MonitorId>,
}

impl From<RunItem> for RunListItem {
    fn from(run: RunItem) -> Self {
        Self {
            id: run.id,
            status: run.status.as_str(),
            url: run.url,
            page_count: run.page_count,
            error_count: run.error_count,
            enqueued_at: run.enqueued_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            monitor_id: run.monitor,
        }
    }
}

/// The project's runs, the youngest first.
#[utoipa::path(
    get,
    path = "/v1/crawls",
    tag = "Crawls",
    params(Params),
    responses((status = 200, description = "Runs", body = Crawls), CommonErrors),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn list_crawls(ctx: Ctx, query: Query<Params>) -> JsonAnswer<Crawls> {
    let limit = validate::limit(query.0.limit, 100, MAX_LIMIT)?;
    let offset = validate::offset(query.0.offset)?;
    let of_deleted = query.0.status.as_deref() == Some(CANCELLED);
    let state = query
        .0
        .status
        .filter(|_| !of_deleted)
        .map(|word| word.parse::<RunState>())
        .transpose()
        .map_err(|_| {
            let rule = "must be one of queued, running, done, failed, cancelled";
            ApiError::invalid("status", rule)
        })?;
    if query.0.monitor_id.is_some_and(|id| id < 1) {
        return Err(ApiError::invalid("monitor_id", "must be at least 1"));
    }
    if of_deleted {
        return Ok(Json(Crawls {
            items: Vec::new(),
            next_offset: None,
        }));
    }
    let filter = RunFilter {
        state,
        monitor: query.0.monitor_id.map(MonitorId),
        limit: limit + 1,
        offset,
    };
    let mut runs = ctx
        .app
        .store
        .run_items(ctx.principal.project, &filter)
        .await?;
    let more = runs.len() > limit as usize;
    runs.truncate(limit as usize);
    Ok(Json(Crawls {
        items: runs.into_iter().map(RunListItem::from).collect(),
        next_offset: more.then(|| offset + u64::from(limit)),
    }))
}
