//! Shapes that the answers about runs share.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::JobId;
use orbweaver_pipeline::cloud::usd;
use orbweaver_store::jobs::{Job, JobProgress, JobState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Code;

/// State of an actor's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ActorRunStatus)]
pub(crate) enum Status {
    /// It waits for a worker.
    Queued,
    /// It is in progress, or waits for another worker after its own has died.
    Running,
    /// The actor has answered.
    Done,
    /// The actor has failed, or the run was given up.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl From<JobState> for Status {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Queued => Self::Queued,
            JobState::Running => Self::Running,
            JobState::Done => Self::Done,
            JobState::Failed => Self::Failed,
            JobState::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Status> for JobState {
    fn from(status: Status) -> Self {
        match status {
            Status::Queued => Self::Queued,
            Status::Running => Self::Running,
            Status::Done => Self::Done,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

/// What an actor says of its progress, in its last attempt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActorRunProgress)]
pub(super) struct Progress {
    /// Steps done.
    done: u64,
    /// Steps in all; null if their number is not known.
    total: Option<u64>,
    /// What it is doing.
    message: Option<String>,
}

impl From<JobProgress> for Progress {
    fn from(progress: JobProgress) -> Self {
        Self {
            done: progress.done,
            total: progress.total,
            message: progress.message,
        }
    }
}

/// Why a run failed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActorRunError)]
pub(crate) struct Failure {
    /// The code that the error of a request for the same has: `TIMEOUT` if its time was over.
    #[schema(value_type = Code)]
    pub(crate) code: String,
    /// For people; may change.
    pub(crate) message: String,
}

/// What a run was billed, at its end.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActorRunBilling)]
pub(crate) struct Billing {
    pages: u64,
    cloud_pages: u64,
    cost_usd: f64,
}

/// An actor's run, without its result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActorRunItem)]
pub(super) struct Run {
    #[schema(value_type = i64)]
    id: JobId,
    /// The actor.
    actor: String,
    status: Status,
    progress: Progress,
    /// Number of items stored.
    item_count: u64,
    /// How often it was started: more than once if its process died.
    attempts: u32,
    /// Null unless it failed.
    error: Option<Failure>,
    billing: Billing,
    enqueued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    /// The X-Request-Id of the request that queued it: the log's lines about it have it.
    request_id: String,
}

impl From<Job> for Run {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            actor: job.actor,
            status: job.status.into(),
            progress: job.progress.into(),
            item_count: job.item_count,
            attempts: job.attempts,
            error: job.error.map(|(code, message)| Failure { code, message }),
            billing: Billing {
                pages: job.pages,
                cloud_pages: job.cloud_pages,
                cost_usd: usd(job.cost_micros),
            },
            enqueued_at: job.enqueued_at,
            started_at: job.started_at,
            finished_at: job.finished_at,
            request_id: job.request_id,
        }
    }
}
