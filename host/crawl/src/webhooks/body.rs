//! The body of a delivery.

use chrono::{DateTime, SubsecRound as _, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, DiffUrls, Event};
use orbweaver_store::webhook::EndedRun;
use serde::Serialize;

/// The body of a delivery. Times have at most milliseconds.
#[derive(Debug, Serialize)]
pub struct WebhookBody<'a> {
    /// The event.
    pub event: Event,
    /// The run.
    pub id: RunId,
    /// The run's project.
    pub project_id: ProjectId,
    /// Its seed as requested.
    pub url: &'a str,
    /// `done` or `failed`.
    pub status: &'static str,
    /// Pages stored, whatever their HTTP status.
    pub page_count: u64,
    /// URLs that could not be fetched.
    pub error_count: u64,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Why it failed, or ended early.
    pub error_message: Option<&'a str>,
    /// When this attempt was made.
    pub delivered_at: DateTime<Utc>,
    /// The monitor that started the run; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor_id: Option<MonitorId>,
    /// The run that it is compared with; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_run_id: Option<RunId>,
    /// The number of pages that differ; absent if nothing was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffCounts>,
    /// URLs of the first pages that differ, and of those that are unavailable; absent where none differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_urls: Option<&'a DiffUrls>,
}

impl<'a> WebhookBody<'a> {
    /// The body of an attempt made at `at`.
    pub fn of(project: ProjectId, run: &'a EndedRun, at: DateTime<Utc>) -> Self {
        Self {
            event: run.event,
            id: run.run,
            project_id: project,
            url: &run.run_url,
            status: run.status.as_str(),
            page_count: run.page_count,
            error_count: run.error_count,
            started_at: run.started_at,
            finished_at: run.finished_at,
            error_message: run.error_message.as_deref(),
            delivered_at: at.trunc_subsecs(3),
            monitor_id: run.monitor,
            previous_run_id: run.previous.filter(|_| run.diff.is_some()),
            diff: run.diff,
            diff_urls: run.urls.as_ref(),
        }
    }
}
