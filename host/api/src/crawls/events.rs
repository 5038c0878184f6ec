//! GET /v1/crawls/{id}/events.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use http::{HeaderMap, StatusCode};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{PageRange, Run, RunState};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use utoipa::{IntoParams, ToSchema};

use super::path::{self, RunPath};
use super::words::CANCELLED;
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::event_stream::{self, Follow};
use crate::input::Query;

/// How often the row of a run that waits, or that another node works on, is looked at: it is
/// what every node agrees on. A run of this process says itself when it has written.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The least time between two events of a run of this process.
const GAP: Duration = Duration::from_millis(250);
/// Pages read at a time.
const PAGES: u32 = 500;

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
    /// What was left out, by reason: see the run.
    skipped: BTreeMap<&'static str, u64>,
    /// Pages a second since the event before; since the start for the first.
    rate: f64,
    /// Why it failed, or ended early.
    error_message: Option<String>,
}

/// The data of the event of a page.
#[derive(Debug, Serialize)]
struct StoredPage {
    id: PageId,
    url: String,
    status: u16,
    bytes: u64,
    fetched_at: DateTime<Utc>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// Also an event `crawl.page` for every page, from the first one on.
    #[param(default = false)]
    pages: Option<bool>,
}

/// An event of the stream.
#[derive(ToSchema)]
#[schema(as = CrawlEvent)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct ProgressEvent {
    /// `progress`, `crawl.page` or `end`.
    event: String,
    /// Send it as `Last-Event-ID` after a reconnect.
    id: String,
    /// A JSON object: `id`; `status` (queued, running, done, failed); `queued` (URLs known and
    /// not yet fetched), `fetched` (pages stored), `failed` (URLs given up), `skipped` (what
    /// was left out, by reason); `rate` (pages a second since the event before); `error_message`. Of a
    /// `crawl.page`: `id`, `url`, `status`, `bytes` and `fetched_at` of the page. The `end` of a deleted
    /// run has a `status` alone: `cancelled`.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// The progress of a run as server-sent events, until it ends.
///
/// Event `progress` whenever counts have changed, and event `end` as the last. With the
/// `Last-Event-ID` of an earlier connection only what has changed since is sent; 204 when
/// that was the last event.
///
/// With `pages=true` every stored page is an event `crawl.page`, in the order of storing, sent
/// once however often the client connects again; all of them come before `end`.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/events",
    tag = "Crawls",
    params(
        ("id" = i64, Path, description = "The run"),
        Params,
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
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let run = path::run(&ctx, id).await?;
    let last = event_stream::last_event_id(&headers).and_then(read_id);
    let pages = query.0.pages.unwrap_or(false);
    let is_last = |(seen, after): (u64, PageId)| {
        // The event of the end has no page behind it, and its id the last one's.
        seen == END && (!pages || after > PageId(0) || run.page_count == 0)
    };
    if run.status.is_over() && last.is_some_and(is_last) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    // A client that has received `end` but not all pages gets the pages, and `end` again.
    let seen = last.map(|(seen, _)| seen).filter(|seen| *seen != END);
    Ok(event_stream::answer(Follower {
        app: ctx.app.clone(),
        project: ctx.principal.project,
        run: id,
        told: Told { seen, looked: None },
        after: pages.then(|| last.map_or(PageId(0), |(_, after)| after)),
        ready: VecDeque::new(),
        again: false,
        last: None,
        commits: None,
        next_look: Instant::now(),
        ended: false,
    }))
}

/// Sequence of the event of the end, which is above all others: they are below 2⁶³.
const END: u64 = u64::MAX;

/// How far a run has come. It rises while the run lives, except when links that were left out are
/// taken all the same.
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

/// The id of an event: how far the run had come, and the last page that was sent.
fn read_id(text: &str) -> Option<(u64, PageId)> {
    let (seen, after) = text.split_once('-').unwrap_or((text, "0"));
    Some((seen.parse().ok()?, PageId(after.parse().ok()?)))
}

/// Which events the client has.
#[derive(Debug, Default)]
struct Told {
    /// Sequence of the last one.
    seen: Option<u64>,
    /// How far the run had come at the last look.
    looked: Option<u64>,
}

impl Told {
    /// The sequence of the next event, where there is one to send: the run has come so far. It is
    /// never below that of an event before.
    fn next(&mut self, sequence: u64, is_over: bool) -> Option<u64> {
        let before = self.looked.replace(sequence);
        if is_over {
            self.seen = Some(END);
            return self.seen;
        }
        let has_changed = match before {
            Some(before) => before != sequence,
            None => self.seen.is_none_or(|seen| sequence > seen),
        };
        if !has_changed {
            return None;
        }
        self.seen = self.seen.max(Some(sequence));
        self.seen
    }
}

struct Follower {
    app: App,
    project: ProjectId,
    run: RunId,
    told: Told,
    /// The last page that was sent; none if pages are not sent.
    after: Option<PageId>,
    /// Events of pages that are read and not sent yet.
    ready: VecDeque<Event>,
    /// Whether there may be more pages already.
    again: bool,
    /// When the last event was made, and the pages then.
    last: Option<(Instant, u64)>,
    /// Changes with each commit, while this process works on the run.
    commits: Option<watch::Receiver<u64>>,
    next_look: Instant,
    ended: bool,
}

impl Follow for Follower {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if !std::mem::take(&mut self.again) {
                self.changed().await;
            }
            let run = match self.app.store.run(self.project, self.run).await {
                Ok(Some(run)) => run,
                // Deleted: there is nothing more to tell.
                Ok(None) => {
                    self.ended = true;
                    return Some(
                        Event::default()
                            .event("end")
                            .data(json!({"status": CANCELLED}).to_string()),
                    );
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read a run's progress; trying again");
                    continue;
                }
            };
            // Read behind the run's row, so that an ended run's pages are all there.
            match self.read_pages().await {
                // More may follow at once.
                Ok(true) => {
                    self.again = true;
                    continue;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot read a run's pages; trying again");
                    continue;
                }
            }
            self.ended = run.status.is_over();
            let Some(id) = self.told.next(sequence(&run), self.ended) else {
                continue;
            };
            let name = if self.ended { "end" } else { "progress" };
            let data = self.progress(run);
            let event = Event::default().event(name).id(self.id(id));
            return event.json_data(&data).ok();
        }
    }
}

impl Follower {
    /// The id of an event.
    fn id(&self, sequence: u64) -> String {
        match self.after {
            Some(PageId(after)) => format!("{sequence}-{after}"),
            None => sequence.to_string(),
        }
    }

    /// Makes events of the pages stored since. Returns whether there were any.
    async fn read_pages(&mut self) -> Result<bool, StoreError> {
        let Some(after) = self.after else {
            return Ok(false);
        };
        let range = PageRange {
            status: None,
            after,
            offset: 0,
            limit: PAGES,
        };
        let store = &self.app.store;
        let rows = store.run_pages(self.project, self.run, &range).await?;
        let are_any = !rows.is_empty();
        for row in rows {
            self.after = Some(row.id);
            let id = self.id(self.told.seen.unwrap_or(0));
            let page = StoredPage {
                id: row.id,
                url: row.url,
                status: row.status,
                bytes: row.bytes,
                fetched_at: row.fetched_at,
            };
            let event = Event::default().event("crawl.page").id(id);
            self.ready.extend(event.json_data(&page));
        }
        Ok(are_any)
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
        let wait = if self.commits.is_some() {
            GAP
        } else {
            POLL_INTERVAL
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_never_fall_though_skipped_links_are_taken_back() {
        let mut told = Told::default();
        assert_eq!(told.next(1, false), Some(1));
        assert_eq!(told.next(1, false), None);
        assert_eq!(told.next(9, false), Some(9));
        // Counts that have fallen are told, too.
        assert_eq!(told.next(4, false), Some(9));
        assert_eq!(told.next(4, false), None);
        assert_eq!(told.next(5, false), Some(9));
        assert_eq!(told.next(10, false), Some(10));
        assert_eq!(told.next(7, true), Some(END));
    }

    #[test]
    fn who_connects_again_is_told_what_has_changed_since() {
        let again = || Told {
            seen: Some(9),
            looked: None,
        };
        let mut told = again();
        assert_eq!(told.next(4, false), None);
        assert_eq!(told.next(5, false), Some(9));
        assert_eq!(again().next(10, false), Some(10));
        assert_eq!(again().next(4, true), Some(END));
    }
}
