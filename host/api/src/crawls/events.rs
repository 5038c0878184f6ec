//! GET /v1/crawls/{id}/events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use http::{HeaderMap, StatusCode};
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_store::crawl::{Run, RunState};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::path::{self, RunPath};
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// How often the row of a run that waits, or that another node works on, is looked at: it is
/// what every node agrees on. A run of this process says itself when it has written.
const LOOK: Duration = Duration::from_millis(500);
/// The least time between two events of a run of this process.
const GAP: Duration = Duration::from_millis(250);
/// A comment is sent after this long without an event, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The data of an event.
#[derive(Debug, Serialize)]
pub(super) struct Progress {
    id: RunId,
    /// `queued`, `running`, `done` or `failed`.
    status: &'static str,
    /// URLs known and not yet fetched.
    queued: u64,
    /// Pages stored.
    fetched: u64,
    /// URLs given up.
    failed: u64,
    /// URLs left out, by reason.
    skipped: BTreeMap<&'static str, u64>,
    /// Pages a second since the event before; since the start for the first.
    rate: f64,
    /// Why it failed, or ended early.
    error_message: Option<String>,
}

/// An event of the stream.
#[derive(ToSchema)]
#[schema(as = CrawlEvent)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct ProgressEvent {
    /// `progress` or `end`.
    event: String,
    /// Send it as `Last-Event-ID` after a reconnect.
    id: String,
    /// A JSON object: `id`; `status` (queued, running, done, failed); `queued` (URLs known and
    /// not yet fetched), `fetched` (pages stored), `failed` (URLs given up), `skipped` (URLs
    /// left out, by reason); `rate` (pages a second since the event before); `error_message`.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// The progress of a run as server-sent events, until it ends.
///
/// Event `progress` whenever counts have changed, and event `end` as the last. With the
/// `Last-Event-ID` of an earlier connection only what has changed since is sent; 204 when
/// that was the last event.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/events",
    tag = "Crawls",
    params(
        ("id" = i64, Path, description = "The run"),
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event received"),
    ),
    responses(
        (status = 200, description = "Events", body = ProgressEvent, content_type = "text/event-stream"),
        (status = 204, description = "Nothing follows the last event received"),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn crawl_events(
    ctx: Ctx,
    RunPath(id): RunPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = path::run(&ctx, id).await?;
    let seen = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.trim().parse::<u64>().ok());
    if run.status.is_over() && seen.is_some_and(|seen| seen >= sequence(&run)) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let follower = Follower {
        app: ctx.app.clone(),
        project: ctx.principal.project,
        run: id,
        seen,
        last: None,
        commits: None,
        next_look: Instant::now(),
        ended: false,
    };
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response())
}

/// What only ever rises while a run lives: how far it has come.
fn sequence(run: &Run) -> u64 {
    let progress = &run.progress;
    let state = match run.status {
        RunState::Queued => 0,
        RunState::Running => 1,
        RunState::Done | RunState::Failed => 2,
    };
    let skipped: u64 = progress.skipped.values().sum();
    let plugins = progress.plugin_errors + progress.dropped;
    progress.fetched + progress.failed + skipped + plugins + state
}

struct Follower {
    app: App,
    project: ProjectId,
    run: RunId,
    /// Id of the last event that the client has.
    seen: Option<u64>,
    /// When the last event was made, and the pages then.
    last: Option<(Instant, u64)>,
    /// Changes with each commit, while this process works on the run.
    commits: Option<watch::Receiver<u64>>,
    next_look: Instant,
    ended: bool,
}

impl Follower {
    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Event> {
        while !self.ended {
            self.changed().await;
            let run = match self.app.store.run(self.project, self.run).await {
                Ok(Some(run)) => run,
                // Deleted: there is nothing more to tell.
                Ok(None) => {
                    self.ended = true;
                    return Some(
                        Event::default()
                            .event("end")
                            .data("{\"status\":\"cancelled\"}"),
                    );
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read a run's progress; trying again");
                    continue;
                }
            };
            let id = sequence(&run);
            self.ended = run.status.is_over();
            if self.seen.is_some_and(|seen| id <= seen) && !self.ended {
                continue;
            }
            self.seen = Some(id);
            let name = if self.ended { "end" } else { "progress" };
            let data = self.progress(run);
            let event = Event::default().event(name).id(id.to_string());
            return event.json_data(&data).ok();
        }
        None
    }

    /// Waits until the run's row may have changed.
    async fn changed(&mut self) {
        if let Some(commits) = &mut self.commits
            && commits.changed().await.is_err()
        {
            // Over, deleted or handed to another node: the row tells.
            self.commits = None;
        }
        sleep_until(self.next_look).await;
        // Before the row is read, so that no commit falls in between.
        if self.commits.is_none() {
            self.commits = self.app.crawls.live.commits(self.run);
        }
        let wait = if self.commits.is_some() { GAP } else { LOOK };
        self.next_look = Instant::now() + wait;
    }

    fn progress(&mut self, run: Run) -> Progress {
        let now = Instant::now();
        let (seconds, pages) = match self.last {
            Some((at, before)) => (
                (now - at).as_secs_f64(),
                run.progress.fetched.saturating_sub(before),
            ),
            None => {
                let end = run.finished_at.unwrap_or_else(|| self.app.clock.now());
                let age = run.started_at.map(|start| end - start);
                let ms = age.map_or(0, |age| age.num_milliseconds()).max(0);
                #[expect(clippy::cast_precision_loss, reason = "a rate")]
                (ms as f64 / 1_000.0, run.progress.fetched)
            }
        };
        self.last = Some((now, run.progress.fetched));
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = if seconds > 0.0 {
            (pages as f64 / seconds * 100.0).round() / 100.0
        } else {
            0.0
        };
        Progress {
            id: run.id,
            status: run.status.as_str(),
            queued: run.progress.queued,
            fetched: run.progress.fetched,
            failed: run.progress.failed,
            skipped: run
                .progress
                .skipped
                .iter()
                .map(|(reason, count)| (reason.as_str(), *count))
                .collect(),
            rate,
            error_message: run.error_message,
        }
    }
}
