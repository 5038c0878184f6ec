//! Crawl runs: every statement on `runs`, `run_deletions`, `run_parts`, `run_reports` and `run_texts`.

pub(crate) mod baseline;
mod lease;
mod list;
pub(crate) mod parts;
mod remove;
pub(crate) mod rows;
pub(crate) mod slots;
pub(crate) mod texts;

pub use baseline::EndedRun;
pub use lease::{Ending, Lease, LeasedRun};
pub use list::RunItem;
pub use parts::{BatchParts, LeasedPart, NewReport, PartLease, PartState, StoredReport};
pub use remove::DeletionStep;
pub use texts::SiteTexts;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use crate::db::{read, signed};
use crate::error::StoreError;
use crate::indexed_key::indexed_key;
use crate::monitors::Monitor;
use crate::store::Store;
use crate::time::to_ms;
use rows::{RunRow, columns};

/// How long an Idempotency-Key returns its run or monitor.
pub(crate) const IDEMPOTENT: TimeDelta = TimeDelta::hours(24);

/// State of a run. A cancelled run has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Waits for a worker.
    Queued,
    /// In progress, or waiting for another worker after its own has died.
    Running,
    /// Ended with its seed fetched.
    Done,
    /// Ended without its seed.
    Failed,
}

impl RunState {
    /// The name in answers and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Whether the run has ended.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RunState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "queued" => Ok(Self::Queued),
            "running" => Ok(Self::Running),
            "done" => Ok(Self::Done),
            "failed" => Ok(Self::Failed),
            _ => Err(format!("unknown run state `{word}`")),
        }
    }
}

/// Why a link or URL was skipped in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// robots.txt does not allow it.
    Robots,
    /// It is outside the run's scope.
    Scope,
    /// A pattern of the crawl request excludes it.
    Excluded,
    /// It is deeper than the run's maximum depth.
    Depth,
    /// A budget of the run is exhausted.
    Budget,
    /// Another URL redirects to it, or it redirects to a page that another URL has.
    Duplicate,
    /// A hook of the crawl request left it out.
    Hook,
}

impl SkipReason {
    /// Every reason, in the order of the columns.
    pub const ALL: [Self; 7] = [
        Self::Robots,
        Self::Scope,
        Self::Excluded,
        Self::Depth,
        Self::Budget,
        Self::Duplicate,
        Self::Hook,
    ];

    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Robots => "robots",
            Self::Scope => "scope",
            Self::Excluded => "excluded",
            Self::Depth => "depth",
            Self::Budget => "budget",
            Self::Duplicate => "duplicate",
            Self::Hook => "hook",
        }
    }
}

/// Progress of a run, as last committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of known URLs not yet fetched.
    pub queued: u64,
    /// Number of stored pages.
    pub fetched: u64,
    /// Number of URLs given up after their retries.
    pub failed: u64,
    /// Number of skipped links and URLs by reason; reasons with none are absent.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Number of failures of plugins on pages and requests.
    pub plugin_errors: u64,
    /// Number of fetched pages that hooks did not let be stored.
    pub dropped: u64,
}

impl Progress {
    /// Number of links and URLs skipped for a reason.
    pub fn skipped_for(&self, reason: SkipReason) -> u64 {
        self.skipped.get(&reason).copied().unwrap_or(0)
    }
}

/// A run to create.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The project that owns it.
    pub project: ProjectId,
    /// The seed as requested.
    pub url: String,
    /// The seed's normalised URL.
    pub url_key: String,
    /// The validated request as JSON.
    pub spec: String,
    /// Whether the first URL fetched is the seed; `false` if a sitemap lists the URLs.
    pub seed_is_page: bool,
    /// The proxy without its credentials.
    pub proxy_shown: Option<String>,
    /// The monitor that starts it.
    pub monitor: Option<MonitorId>,
    /// The monitor's previous run.
    pub previous: Option<RunId>,
    /// The client's Idempotency-Key.
    pub idem_key: Option<String>,
    /// The current time.
    pub enqueued_at: DateTime<Utc>,
    /// Whether a webhook is delivered at its end: its status is then `pending`.
    pub has_webhook: bool,
}

/// Result of creating a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is queued.
    New(Box<Run>),
    /// The Idempotency-Key already created this run.
    Replayed(Box<Run>),
    /// The Idempotency-Key already created this monitor.
    Monitor(Box<Monitor>),
    /// The project's cap of queued and running runs is reached.
    CapReached,
}

/// Selects runs to list; newest first.
#[derive(Clone, Copy, Debug)]
pub struct RunFilter {
    /// Only those in this state.
    pub state: Option<RunState>,
    /// Only those of this monitor.
    pub monitor: Option<MonitorId>,
    /// Most runs to return.
    pub limit: u32,
    /// Number of runs to skip.
    pub offset: u64,
}

/// A run with all its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The monitor that started it.
    pub monitor: Option<MonitorId>,
    /// The monitor's previous run.
    pub previous: Option<RunId>,
    /// The seed as requested.
    pub url: String,
    /// The seed's normalised URL.
    pub url_key: String,
    /// Its state.
    pub status: RunState,
    /// The validated request as JSON; may contain credentials, so never log it.
    pub spec: String,
    /// Whether the first URL fetched is the seed; `false` if a sitemap lists the URLs.
    pub seed_is_page: bool,
    /// Number of stored pages.
    pub page_count: u64,
    /// Failures on the crawler's side.
    pub error_count: u64,
    /// When it was accepted.
    pub enqueued_at: DateTime<Utc>,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Why it failed or ended early.
    pub error_message: Option<String>,
    /// The proxy without its credentials.
    pub proxy_url: Option<String>,
    /// JSON object that maps each AI crawler to its policy.
    pub ai_bot_policy: Option<String>,
    /// `None` without a webhook, `pending`, `delivered`, `dead`, `suppressed_…`.
    pub webhook_status: Option<String>,
    /// Number of delivery attempts.
    pub webhook_attempts: u32,
    /// Error of the last failed attempt.
    pub webhook_last_error: Option<String>,
    /// Progress as last committed.
    pub progress: Progress,
    /// What the engine wrote down, to go on with it: a JSON object that only the engine reads.
    pub engine_state: String,
}

impl Store {
    /// Queues a run, unless its Idempotency-Key already created one or the project has `cap`
    /// queued and running runs.
    #[crate::boxed]
    pub async fn create_run(&self, new: &NewRun, cap: Option<u32>) -> Result<Created, StoreError> {
        self.queue_run(new, cap, 0).await
    }

    /// As [`create_run`](Self::create_run); a run beyond the cap waits for a place
    /// ([`admit_held_runs`](Self::admit_held_runs)), unless `most_held` of the project's wait.
    #[crate::boxed]
    pub async fn queue_run(
        &self,
        new: &NewRun,
        cap: Option<u32>,
        most_held: u32,
    ) -> Result<Created, StoreError> {
        self.queue_list(new, cap, most_held, &[], &[]).await
    }

    /// A run of the project.
    #[crate::boxed]
    pub async fn run(&self, project: ProjectId, id: RunId) -> Result<Option<Run>, StoreError> {
        let row: Option<RunRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM runs WHERE id = $1 AND project_id = $2"
            ))
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(Run::try_from).transpose()
    }

    /// Runs of the project, newest first.
    #[crate::boxed]
    pub async fn runs(
        &self,
        project: ProjectId,
        filter: &RunFilter,
    ) -> Result<Vec<Run>, StoreError> {
        let rows: Vec<RunRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM runs
                 WHERE project_id = $1 AND (status = $2 OR $2 = '')
                   AND (monitor_id = $3 OR $3 = 0)
                 ORDER BY id DESC LIMIT $4 OFFSET $5"
            ))
            .bind(project.get())
            .bind(filter.state.map_or("", RunState::as_str))
            .bind(filter.monitor.map_or(0, |id| id.get()))
            .bind(i64::from(filter.limit))
            .bind(signed(filter.offset))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(Run::try_from).collect()
    }

    /// Done runs of the project for that seed, not older than `since`, the newest first.
    #[crate::boxed]
    pub async fn recent_done_runs(
        &self,
        project: ProjectId,
        url_key: &str,
        since: DateTime<Utc>,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<Run>, StoreError> {
        let rows: Vec<RunRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM runs
                 WHERE project_id = $1 AND url_key = $2 AND finished_at >= $3
                   AND status = 'done'
                 ORDER BY finished_at DESC, id DESC LIMIT $4 OFFSET $5"
            ))
            .bind(project.get())
            .bind(indexed_key(url_key))
            .bind(to_ms(since))
            .bind(i64::from(limit))
            .bind(i64::from(offset))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(Run::try_from).collect()
    }
}
