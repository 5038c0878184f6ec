//! Jobs, the runs of actors in the background: every statement on `jobs`, `job_items` and
//! `job_removals`.

pub(crate) mod items;
mod lease;
mod list;
pub(crate) mod rows;

pub use items::JobRecord;
pub use lease::{JobDelivery, JobEnding, JobLease, JobOutcome, LeasedJob};
pub use list::{JobFilter, JobWebhook};

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{JobId, ProjectId};

use crate::db::transact;
use crate::error::StoreError;
use crate::notices::Topic;
use crate::store::Store;
use rows::columns;

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    /// In progress, or waiting for another worker after its own has died.
    Running,
    /// The actor has answered.
    Done,
    /// The actor has failed, or the job was given up.
    Failed,
    /// Its owner ended it.
    Cancelled,
}

impl JobState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The name in answers and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the job has ended.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for JobState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| format!("unknown job state `{word}`"))
    }
}

/// What an actor says of its progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Steps done.
    pub done: u64,
    /// Steps in all, if known.
    pub total: Option<u64>,
    /// What it is doing.
    pub message: Option<String>,
}

/// A job to create.
#[derive(Clone, Debug)]
pub struct NewJob<'a> {
    /// The project that owns it.
    pub project: ProjectId,
    /// The actor's name.
    pub actor: &'a str,
    /// The validated input as JSON.
    pub input: &'a str,
    /// Id of the request that queues it.
    pub request_id: &'a str,
    /// Where its end is told.
    pub webhook_url: Option<&'a str>,
    /// The client's Idempotency-Key, and the SHA-256 of the request's body.
    pub idem: Option<(&'a str, &'a [u8; 32])>,
    /// The current time.
    pub enqueued_at: DateTime<Utc>,
    /// Most queued and running jobs of the project.
    pub most_active: u32,
    /// Most bytes of their inputs.
    pub most_input_bytes: u64,
}

/// Result of creating a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobCreated {
    /// It is queued.
    New(Box<Job>),
    /// The Idempotency-Key already created this job.
    Replayed(Box<Job>),
    /// The Idempotency-Key was used with another body.
    OtherBody,
    /// The project has as many queued and running jobs as it may.
    QueueFull,
    /// The inputs of the project's queued and running jobs have as many bytes as they may.
    InputsFull,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The actor's name.
    pub actor: String,
    /// Its state.
    pub status: JobState,
    /// Id of the request that queued it.
    pub request_id: String,
    /// The receiver of the webhook about its end; may carry credentials.
    pub webhook_url: Option<String>,
    /// When it was accepted.
    pub enqueued_at: DateTime<Utc>,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Whether it is to end as soon as it can.
    pub cancel_requested: bool,
    /// Attempts begun.
    pub attempts: u32,
    /// What the actor says of its progress.
    pub progress: JobProgress,
    /// Number of items stored.
    pub item_count: u64,
    /// Why it failed: a code of the API's errors, and a message.
    pub error: Option<(String, String)>,
    /// Standard pages billed at its end.
    pub pages: u64,
    /// Cloud pages billed at its end.
    pub cloud_pages: u64,
    /// Its cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Rises with every change of the job.
    pub revision: u64,
}

impl Store {
    /// Queues a job, unless its Idempotency-Key already created one or too many of the project
    /// are queued or running.
    #[crate::boxed]
    pub async fn create_job(&self, new: &NewJob<'_>) -> Result<JobCreated, StoreError> {
        transact!(self.db, tx => {
            sql::projects::lock(tx, new.project).await?;
            if let Some(before) = sql::jobs::created_before(tx, new).await? {
                return Ok(before);
            }
            let (active, bytes) = sql::jobs::count_active(tx, new.project).await?;
            if active >= u64::from(new.most_active) {
                return Ok(JobCreated::QueueFull);
            }
            if bytes.saturating_add(new.input.len() as u64) > new.most_input_bytes {
                return Ok(JobCreated::InputsFull);
            }
            Ok(JobCreated::New(Box::new(sql::jobs::insert(tx, new).await?)))
        })
    }

    /// What [`create_job`](Self::create_job) answers if the Idempotency-Key was used before; `None`
    /// if it was not.
    #[crate::boxed]
    pub async fn job_of_key(&self, new: &NewJob<'_>) -> Result<Option<JobCreated>, StoreError> {
        transact!(self.db, tx => sql::jobs::created_before(tx, new).await)
    }

    /// Asks for the end of a job: a queued one is cancelled at once, a running one is marked for
    /// its worker. Its state then; `None` if the project has no such job.
    #[crate::boxed]
    pub async fn cancel_job(
        &self,
        project: ProjectId,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Option<JobState>, StoreError> {
        transact!(self.db, tx => {
            let state = sql::jobs::cancel(tx, project, job, now).await?;
            sql::notices::tell(tx, Topic::Work).await?;
            Ok(state)
        })
    }

    /// Deletes a job of the project with its items: a worker's lease on it is then invalid.
    /// `false` if there is none. [`remove_job_items`](Self::remove_job_items) deletes the items.
    #[crate::boxed]
    pub async fn delete_job(&self, project: ProjectId, job: JobId) -> Result<bool, StoreError> {
        transact!(self.db, tx => sql::jobs::delete(tx, project, job).await)
    }
}
