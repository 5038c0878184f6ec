//! A monitor as answers show it.

use chrono::{DateTime, Utc};
use orbweaver_core::cron::Schedule;
use orbweaver_core::ids::{MonitorId, RunId};
use orbweaver_store::monitors::Monitor;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use orbweaver_crawl::spec::CrawlSpec;

/// A monitor.
#[derive(Serialize, ToSchema)]
#[schema(as = Monitor)]
pub(super) struct View {
    #[schema(value_type = i64)]
    id: MonitorId,
    /// Five fields, UTC.
    schedule: String,
    /// The seed as it was asked for.
    url: String,
    /// False while it is paused.
    enabled: bool,
    last_fired_at: Option<DateTime<Utc>>,
    /// Time of the next run. In the past while a run waits for a free slot or for the end of the
    /// last run. Null while the monitor is paused.
    next_fires_at: Option<DateTime<Utc>>,
    /// The last run that it started.
    #[schema(value_type = Option<i64>)]
    last_run_id: Option<RunId>,
    /// Receives the webhooks of its runs.
    #[schema(extensions(("x-extension" = json!(true))))]
    webhook_url: Option<String>,
}

impl TryFrom<Monitor> for View {
    type Error = ApiError;

    fn try_from(monitor: Monitor) -> Result<Self, ApiError> {
        let spec = spec(&monitor)?;
        Ok(Self {
            id: monitor.id,
            schedule: monitor.schedule,
            url: monitor.url,
            enabled: monitor.next_fires_at.is_some(),
            last_fired_at: monitor.last_fired_at,
            next_fires_at: monitor.next_fires_at,
            last_run_id: monitor.last_run,
            webhook_url: spec.webhook_url,
        })
    }
}

/// The crawl that a monitor repeats.
pub(super) fn spec(monitor: &Monitor) -> Result<CrawlSpec, ApiError> {
    serde_json::from_str(&monitor.spec).map_err(|error| ApiError::internal(&error))
}

/// A schedule that fires, and when it does first after `now`.
pub(super) fn schedule(
    field: &str,
    text: &str,
    now: DateTime<Utc>,
) -> Result<(Schedule, DateTime<Utc>), ApiError> {
    let schedule = Schedule::parse(text).map_err(|rule| ApiError::invalid(field, rule))?;
    match schedule.next_after(now) {
        Some(next) => Ok((schedule, next)),
        None => Err(ApiError::invalid(field, "does not fire any more")),
    }
}
