//! POST /v1/crawls with `cron`.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use http::{HeaderValue, StatusCode, header};
use orbweaver_core::ids::MonitorId;
use orbweaver_store::monitors::{CreatedMonitor, Monitor, NewMonitor};
use serde::Serialize;
use utoipa::ToSchema;

use super::view;
use crate::context::Ctx;
use crate::crawls;
use crate::error::ApiError;
use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_crawl::submit::{shown_proxy, url_key};

/// Seconds after which to ask again at the cap: only a change of tier, or removing a
/// monitor, makes room.
const RETRY_AFTER: u64 = 3_600;

/// A new monitor.
#[derive(Serialize, ToSchema)]
#[schema(as = NewMonitor)]
pub(crate) struct Made {
    #[schema(value_type = i64)]
    monitor_id: MonitorId,
    /// Five fields, UTC.
    schedule: String,
    /// Time of its first run.
    next_fires_at: Option<DateTime<Utc>>,
    /// The seed as it was asked for.
    url: String,
    /// What happens next, for people.
    info: String,
}

/// Makes a monitor of a crawl that passed validation, its project's proxy filled in.
pub(crate) async fn create(ctx: &Ctx, spec: &CrawlSpec, cron: &str) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let now = app.clock.now();
    let (schedule, next) = view::schedule("cron", cron, now)?;
    let new = NewMonitor {
        project,
        schedule: schedule.as_str().to_owned(),
        url: spec.url.clone(),
        url_key: url_key(&spec.url),
        spec: serde_json::to_string(spec).map_err(|error| ApiError::internal(&error))?,
        seed_is_page: spec.seed_kind == SeedKind::Url,
        proxy_shown: shown_proxy(spec),
        has_webhook: spec.webhook_url.is_some(),
        next_fires_at: next,
        idem_key: ctx.idempotency_key.map(|key| key.to_string()),
        created_at: now,
    };
    let cap = app.accounts.quota.caps(project).await?.monitors.0;
    match app.store.create_monitor(&new, cap).await? {
        CreatedMonitor::New(monitor) => answer(*monitor),
        CreatedMonitor::Replayed(monitor) => replayed(*monitor),
        CreatedMonitor::Run(run) => crawls::replayed(&run),
        CreatedMonitor::CapReached => Err(ApiError::rate_limited(
            format!(
                "the project has {} monitors, as many as its tier allows, paused ones included",
                cap.unwrap_or_default()
            ),
            RETRY_AFTER,
        )),
    }
}

/// The answer of the request that made the monitor.
pub(crate) fn replayed(monitor: Monitor) -> Result<Response, ApiError> {
    let mut response = answer(monitor)?;
    crawls::mark_replayed(&mut response);
    Ok(response)
}

fn answer(monitor: Monitor) -> Result<Response, ApiError> {
    let location = HeaderValue::try_from(format!("/v1/crons/{}", monitor.id))
        .map_err(|error| ApiError::internal(&error))?;
    let made = Made {
        monitor_id: monitor.id,
        info: format!(
            "Crawls by the schedule `{}` (UTC); each run is compared with the one before. \
             PATCH and DELETE /v1/crons/{} change and remove it.",
            monitor.schedule, monitor.id
        ),
        schedule: monitor.schedule,
        next_fires_at: monitor.next_fires_at,
        url: monitor.url,
    };
    let mut response = (StatusCode::CREATED, Json(made)).into_response();
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}
