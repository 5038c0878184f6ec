//! A delivery that a node has taken, with what it is about.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{DeliveryId, JobId, MonitorId, PageId, ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, DiffUrls, Event};

use super::DiffColumn;
use super::feed::TakenPages;
use crate::error::StoreError;
use crate::runs::RunState;
use crate::time::from_ms;

/// A delivery that this node is to attempt, with the run's data for its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// Number of times it was taken; results of an earlier take are ignored.
    pub take: i64,
    /// The project that owns it.
    pub project: ProjectId,
    /// The webhook-id.
    pub message_id: String,
    /// URL of the receiver.
    pub url: String,
    /// scheme://host:port of the URL.
    pub target: String,
    /// Attempts since it was created or last repeated on request.
    pub tried: u32,
    /// What it is about.
    pub subject: DeliverySubject,
}

/// What a delivery is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliverySubject {
    /// A crawl run that ended.
    Run(Box<EndedRun>),
    /// Pages that a crawl run has stored.
    Pages(Box<TakenPages>),
    /// A job that ended.
    Job {
        /// The job.
        job: JobId,
        /// The body as it is sent.
        payload: String,
    },
    /// A plugin: the delivery belongs to no run.
    Plugin {
        /// The event's name.
        event: String,
        /// The body as it is sent.
        payload: String,
    },
}

/// A crawl run that ended, as its webhook tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// The event.
    pub event: Event,
    /// The body as it is sent, if it was made when the run ended.
    pub payload: Option<String>,
    /// Difference to the previous run, if there is one.
    pub diff: Option<DiffCounts>,
    /// The first pages that differ.
    pub urls: Option<DiffUrls>,
    /// The run that ended.
    pub run: RunId,
    /// Its monitor.
    pub monitor: Option<MonitorId>,
    /// The run that it is compared with.
    pub previous: Option<RunId>,
    /// The run's seed as requested.
    pub run_url: String,
    /// The run's final state.
    pub status: RunState,
    /// Number of stored pages.
    pub page_count: u64,
    /// Failures on the crawler's side.
    pub error_count: u64,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Why it failed or ended early.
    pub error_message: Option<String>,
}

impl TakenDelivery {
    /// The crawl run that it is about.
    pub fn run(&self) -> Option<RunId> {
        match &self.subject {
            DeliverySubject::Run(run) => Some(run.run),
            DeliverySubject::Pages(pages) => Some(pages.run),
            DeliverySubject::Job { .. } | DeliverySubject::Plugin { .. } => None,
        }
    }
}

#[derive(sqlx_macros::FromRow)]
pub(super) struct TakenRow {
    id: i64,
    takes: i64,
    project_id: i64,
    message_id: String,
    event: String,
    url: String,
    target: String,
    tried: i64,
    payload: Option<String>,
    job_id: Option<i64>,
    diff_added: Option<i64>,
    diff_removed: Option<i64>,
    diff_changed: Option<i64>,
    diff_unchanged: Option<i64>,
    diff_gone: Option<i64>,
    diff_unvisited: Option<i64>,
    diff_urls: Option<String>,
    pages_after: Option<i64>,
    pages_through: Option<i64>,
    created_at: i64,
    run_id: Option<i64>,
    monitor_id: Option<i64>,
    previous_run_id: Option<i64>,
    run_url: Option<String>,
    status: Option<String>,
    page_count: Option<i64>,
    error_count: Option<i64>,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    error_message: Option<String>,
}

impl TakenRow {
    fn diff(&self, unavailable: u64) -> Option<DiffCounts> {
        Some(DiffCounts {
            added: self.diff_added?.unsigned_abs(),
            removed: self.diff_removed?.unsigned_abs(),
            changed: self.diff_changed?.unsigned_abs(),
            unchanged: self.diff_unchanged?.unsigned_abs(),
            gone: self.diff_gone?.unsigned_abs(),
            unvisited: self.diff_unvisited?.unsigned_abs(),
            unavailable,
        })
    }
}

impl TryFrom<TakenRow> for TakenDelivery {
    type Error = StoreError;

    fn try_from(row: TakenRow) -> Result<Self, StoreError> {
        let id = row.id;
        let damaged = |what: &str| StoreError::Damaged(format!("delivery {id}: {what}"));
        let DiffColumn {
            urls,
            unavailable_pages,
        } = DiffColumn::read(row.diff_urls.as_deref());
        let diff = row.diff(unavailable_pages);
        let count = |count: Option<i64>| count.map_or(0, i64::unsigned_abs);
        let pages = row.pages_after.zip(row.pages_through);
        let subject = match (row.run_id, row.job_id, pages) {
            (Some(run), _, Some((after, through))) => {
                DeliverySubject::Pages(Box::new(TakenPages {
                    run: RunId(run),
                    monitor: row.monitor_id.map(MonitorId),
                    run_url: row.run_url.ok_or_else(|| damaged("its run is gone"))?,
                    after: PageId(after),
                    through: PageId(through),
                    created_at: from_ms(row.created_at),
                }))
            }
            (Some(run), _, None) => DeliverySubject::Run(Box::new(EndedRun {
                event: row.event.parse().map_err(|_| damaged("event"))?,
                payload: row.payload,
                diff,
                urls,
                run: RunId(run),
                monitor: row.monitor_id.map(MonitorId),
                previous: row.previous_run_id.map(RunId),
                run_url: row.run_url.ok_or_else(|| damaged("its run is gone"))?,
                status: row
                    .status
                    .ok_or_else(|| damaged("its run is gone"))?
                    .parse()
                    .map_err(StoreError::Damaged)?,
                page_count: count(row.page_count),
                error_count: count(row.error_count),
                started_at: row.started_at.map(from_ms),
                finished_at: row.finished_at.map(from_ms),
                error_message: row.error_message,
            })),
            (None, Some(job), _) => DeliverySubject::Job {
                job: JobId(job),
                payload: row.payload.ok_or_else(|| damaged("payload"))?,
            },
            (None, None, _) => DeliverySubject::Plugin {
                event: row.event,
                payload: row.payload.ok_or_else(|| damaged("payload"))?,
            },
        };
        Ok(Self {
            id: DeliveryId(row.id),
            take: row.takes,
            project: ProjectId(row.project_id),
            message_id: row.message_id,
            url: row.url,
            target: row.target,
            tried: u32::try_from(row.tried).unwrap_or_default(),
            subject,
        })
    }
}
