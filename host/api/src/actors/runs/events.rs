//! GET /v1/actors/{name}/runs/{id}/events.

use std::time::Duration;

use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use orbweaver_core::ids::{JobId, ProjectId};
use orbweaver_store::ChangeWatch;
use orbweaver_store::jobs::Job;
use tokio::time::sleep;
use utoipa::ToSchema;

use super::answer::Run;
use super::path::{self, ActorRunPath};
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::event_stream::{self, Follow};

/// The least time between two looks at the run's row.
const GAP: Duration = Duration::from_millis(250);

/// An event of the stream.
#[derive(ToSchema)]
#[schema(as = ActorRunEvent)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct RunEvent {
    /// `progress` or `end`.
    event: String,
    /// Send it as `Last-Event-ID` after a reconnect.
    id: String,
    /// A JSON object: an item of the list of runs.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// The progress of a run as server-sent events, until it ends.
///
/// Event `progress` whenever the run has changed, and event `end` as the last. With the
/// `Last-Event-ID` of an earlier connection only what has changed since is sent; 204 when
/// that was the last event.
#[utoipa::path(
    get,
    path = "/v1/actors/{name}/runs/{id}/events",
    tag = "Actors",
    params(
        ("name" = String, Path, description = "The actor's name"),
        ("id" = i64, Path, description = "The run"),
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event received"),
    ),
    responses(
        (status = 200, description = "Events", body = RunEvent, content_type = "text/event-stream"),
        (status = 204, description = "Nothing follows the last event received"),
        (status = 404, description = "No such run of this actor in this project", body = ErrorBody),
        CommonErrors,
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn run_events(
    ctx: Ctx,
    path: ActorRunPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    // Before the row is read, so that no change falls in between.
    let changes = ctx.app.store.watch_changes();
    let job = path::run(&ctx, &path).await?;
    let seen = event_stream::last_event_id(&headers).and_then(|id| id.parse::<u64>().ok());
    if job.status.is_over() && seen.is_some_and(|seen| seen >= job.revision) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(event_stream::answer(Follower {
        app: ctx.app.clone(),
        project: ctx.principal.project,
        id: path.id,
        seen,
        known: Some(job),
        changes,
        ended: false,
    }))
}

struct Follower {
    app: App,
    project: ProjectId,
    id: JobId,
    /// Id of the last event that the client has.
    seen: Option<u64>,
    /// The run as it was found when the client connected.
    known: Option<Job>,
    changes: ChangeWatch,
    ended: bool,
}

impl Follow for Follower {
    async fn next(&mut self) -> Option<Event> {
        while !self.ended {
            let job = match self.known.take() {
                Some(job) => Some(job),
                None => {
                    self.changes.changed().await;
                    sleep(GAP).await;
                    match self.app.store.job(self.project, self.id).await {
                        Ok(job) => job,
                        Err(error) => {
                            tracing::warn!(%error, "cannot read an actor's run; trying again");
                            continue;
                        }
                    }
                }
            };
            let Some(job) = job else {
                // Deleted: there is nothing more to tell.
                self.ended = true;
                let data = "{\"status\":\"cancelled\"}";
                return Some(Event::default().event("end").data(data));
            };
            self.ended = job.status.is_over();
            if self.seen.is_some_and(|seen| job.revision <= seen) && !self.ended {
                continue;
            }
            self.seen = Some(job.revision);
            let name = if self.ended { "end" } else { "progress" };
            let event = Event::default().event(name).id(job.revision.to_string());
            return event.json_data(Run::from(job)).ok();
        }
        None
    }
}
