//! Runs as requests see them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use serde::{Deserialize, Serialize};

use crate::db::{Store, read, transact};
use crate::error::StoreError;
use crate::time::{from_ms, to_ms};

/// How long an Idempotency-Key stands for its run.
const IDEMPOTENT: TimeDelta = TimeDelta::hours(24);

/// Where a run is in its life. A cancelled run has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Waits for a worker.
    Queued,
    /// Is worked on, or waits for another worker after its own has gone.
    Running,
    /// Ended well.
    Done,
    /// Ended without its seed.
    Failed,
}

impl RunState {
    /// The word in answers and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing more happens to the run.
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

/// What a run has done so far, as last committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// URLs known and not yet fetched.
    pub queued: u64,
    /// Page rows.
    pub fetched: u64,
    /// URLs given up after their retries.
    pub failed: u64,
    /// Links and URLs left out, by reason: `robots`, `scope`, `excluded`, `depth`, `budget` …
    pub skipped: BTreeMap<String, u64>,
}

/// A run to create.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Whose it is.
    pub project: ProjectId,
    /// The seed as it was asked for.
    pub url: String,
    /// The seed's normalised URL.
    pub url_key: String,
    /// The validated request as JSON.
    pub spec: String,
    /// The proxy without its credentials.
    pub proxy_shown: Option<String>,
    /// The monitor that fires it.
    pub monitor: Option<MonitorId>,
    /// The monitor's run before.
    pub previous: Option<RunId>,
    /// The caller's Idempotency-Key.
    pub idem_key: Option<String>,
    /// Now.
    pub enqueued_at: DateTime<Utc>,
    /// Whether a webhook is to be delivered when it ends: its status is `pending` then.
    pub has_webhook: bool,
}

/// What became of a run to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is queued.
    New(Box<Run>),
    /// The Idempotency-Key stands for this run already.
    Replayed(Box<Run>),
    /// The project has as many queued and running runs as it may.
    CapReached,
}

/// Which runs to list; the youngest first.
#[derive(Clone, Copy, Debug)]
pub struct RunFilter {
    /// Only those in this state.
    pub state: Option<RunState>,
    /// Only those of this monitor.
    pub monitor: Option<MonitorId>,
    /// At most this many.
    pub limit: u32,
    /// After leaving out this many.
    pub offset: u64,
}

/// A run, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Whose it is.
    pub project: ProjectId,
    /// The monitor that fired it.
    pub monitor: Option<MonitorId>,
    /// The monitor's run before.
    pub previous: Option<RunId>,
    /// The seed as it was asked for.
    pub url: String,
    /// The seed's normalised URL.
    pub url_key: String,
    /// Where it is in its life.
    pub status: RunState,
    /// The validated request as JSON; may carry credentials, so never log it.
    pub spec: String,
    /// Page rows.
    pub page_count: u64,
    /// Failures on the crawler's side.
    pub error_count: u64,
    /// When it was accepted.
    pub enqueued_at: DateTime<Utc>,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Why it failed, or ended early.
    pub error_message: Option<String>,
    /// The proxy without its credentials.
    pub proxy_url: Option<String>,
    /// JSON object: bot to policy word.
    pub ai_bot_policy: Option<String>,
    /// The site's llms.txt.
    pub llms_txt: Option<String>,
    /// The site's llms-full.txt.
    pub llms_full_txt: Option<String>,
    /// `None` without a webhook, `pending`, `delivered`, `dead`, `suppressed_…`.
    pub webhook_status: Option<String>,
    /// Deliveries tried.
    pub webhook_attempts: u32,
    /// What the last of them failed with.
    pub webhook_last_error: Option<String>,
    /// Counts as last committed.
    pub progress: Progress,
}

#[derive(sqlx::FromRow)]
pub(super) struct Row {
    id: i64,
    project_id: i64,
    monitor_id: Option<i64>,
    previous_run_id: Option<i64>,
    url: String,
    url_key: String,
    status: String,
    spec: String,
    page_count: i64,
    error_count: i64,
    enqueued_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    error_message: Option<String>,
    proxy_url: Option<String>,
    ai_bot_policy: Option<String>,
    llms_txt: Option<String>,
    llms_full_txt: Option<String>,
    webhook_status: Option<String>,
    webhook_attempts: i64,
    webhook_last_error: Option<String>,
    progress: String,
}

/// The columns of [`Row`].
macro_rules! columns {
    () => {
        "id, project_id, monitor_id, previous_run_id, url, url_key, status, spec, page_count,
         error_count, enqueued_at, started_at, finished_at, error_message, proxy_url,
         ai_bot_policy, llms_txt, llms_full_txt, webhook_status, webhook_attempts,
         webhook_last_error, progress"
    };
}
pub(super) use columns;

impl TryFrom<Row> for Run {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: RunId(row.id),
            project: ProjectId(row.project_id),
            monitor: row.monitor_id.map(MonitorId),
            previous: row.previous_run_id.map(RunId),
            url: row.url,
            url_key: row.url_key,
            status: row.status.parse().map_err(StoreError::Damaged)?,
            spec: row.spec,
            page_count: u64::try_from(row.page_count).unwrap_or_default(),
            error_count: u64::try_from(row.error_count).unwrap_or_default(),
            enqueued_at: from_ms(row.enqueued_at),
            started_at: row.started_at.map(from_ms),
            finished_at: row.finished_at.map(from_ms),
            error_message: row.error_message,
            proxy_url: row.proxy_url,
            ai_bot_policy: row.ai_bot_policy,
            llms_txt: row.llms_txt,
            llms_full_txt: row.llms_full_txt,
            webhook_status: row.webhook_status,
            webhook_attempts: u32::try_from(row.webhook_attempts).unwrap_or_default(),
            webhook_last_error: row.webhook_last_error,
            progress: serde_json::from_str(&row.progress)
                .map_err(|error| StoreError::Damaged(format!("progress: {error}")))?,
        })
    }
}

impl Store {
    /// Queues a run, unless its Idempotency-Key stands for one already or the project has
    /// `cap` queued and running runs.
    pub async fn create_run(&self, new: &NewRun, cap: Option<u32>) -> Result<Created, StoreError> {
        transact!(self.db, tx => {
            // Holds the project's row, so that two requests can't both take the last place.
            sqlx::query("UPDATE projects SET tier = tier WHERE id = $1")
                .bind(new.project.get())
                .execute(&mut *tx)
                .await?;
            if let Some(key) = &new.idem_key {
                sqlx::query(
                    "UPDATE runs SET idem_key = NULL
                     WHERE project_id = $1 AND idem_key = $2 AND enqueued_at <= $3",
                )
                .bind(new.project.get())
                .bind(key.as_str())
                .bind(to_ms(new.enqueued_at - IDEMPOTENT))
                .execute(&mut *tx)
                .await?;
                let known: Option<Row> = sqlx::query_as(concat!(
                    "SELECT ", columns!(), " FROM runs WHERE project_id = $1 AND idem_key = $2"
                ))
                .bind(new.project.get())
                .bind(key.as_str())
                .fetch_optional(&mut *tx)
                .await?;
                if let Some(row) = known {
                    return Ok(Created::Replayed(Box::new(row.try_into()?)));
                }
            }
            if let Some(cap) = cap {
                let active: i64 = sqlx::query_scalar(
                    "SELECT count(*) FROM runs
                     WHERE project_id = $1 AND status IN ('queued', 'running')",
                )
                .bind(new.project.get())
                .fetch_one(&mut *tx)
                .await?;
                if active >= i64::from(cap) {
                    return Ok(Created::CapReached);
                }
            }
            let row: Row = sqlx::query_as(concat!(
                "INSERT INTO runs (project_id, monitor_id, previous_run_id, url, url_key, status,
                     spec, proxy_url, idem_key, enqueued_at, webhook_status)
                 VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8, $9, $10)
                 RETURNING ", columns!()
            ))
            .bind(new.project.get())
            .bind(new.monitor.map(|id| id.get()))
            .bind(new.previous.map(|id| id.get()))
            .bind(new.url.as_str())
            .bind(new.url_key.as_str())
            .bind(new.spec.as_str())
            .bind(new.proxy_shown.as_deref())
            .bind(new.idem_key.as_deref())
            .bind(to_ms(new.enqueued_at))
            .bind(new.has_webhook.then_some("pending"))
            .fetch_one(&mut *tx)
            .await?;
            Ok(Created::New(Box::new(row.try_into()?)))
        })
    }

    /// A run of the project.
    pub async fn run(&self, project: ProjectId, id: RunId) -> Result<Option<Run>, StoreError> {
        let row: Option<Row> = read!(self.db, pool => {
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

    /// Runs of the project, the youngest first.
    pub async fn runs(
        &self,
        project: ProjectId,
        filter: &RunFilter,
    ) -> Result<Vec<Run>, StoreError> {
        let rows: Vec<Row> = read!(self.db, pool => {
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
            .bind(i64::try_from(filter.offset).unwrap_or(i64::MAX))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(Run::try_from).collect()
    }

    /// How many runs of the project are queued or running.
    pub async fn active_runs(&self, project: ProjectId) -> Result<u32, StoreError> {
        let count: i64 = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT count(*) FROM runs
                 WHERE project_id = $1 AND status IN ('queued', 'running')",
            )
            .bind(project.get())
            .fetch_one(pool)
            .await?
        });
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The youngest done run of the project for that seed, not older than `since`.
    pub async fn recent_done_run(
        &self,
        project: ProjectId,
        url_key: &str,
        since: DateTime<Utc>,
    ) -> Result<Option<Run>, StoreError> {
        let row: Option<Row> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM runs
                 WHERE project_id = $1 AND url_key = $2 AND finished_at >= $3
                   AND status = 'done'
                 ORDER BY finished_at DESC, id DESC LIMIT 1"
            ))
            .bind(project.get())
            .bind(url_key)
            .bind(to_ms(since))
            .fetch_optional(pool)
            .await?
        });
        row.map(Run::try_from).transpose()
    }
}
