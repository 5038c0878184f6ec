//! GET /v1/ready.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// A database or blob store that takes longer is not ready.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// What is not as it should be.
#[derive(Serialize, ToSchema)]
pub(super) struct Unhealthy {
    /// `unhealthy`.
    #[schema(example = "unhealthy")]
    status: &'static str,
    checks: Checks,
}

#[derive(Serialize, ToSchema)]
struct Checks {
    database: DatabaseCheck,
    worker: WorkerCheck,
    /// Null if bodies of pages are kept in the database.
    blobs: Option<BlobCheck>,
}

#[derive(Serialize, ToSchema)]
struct BlobCheck {
    ok: bool,
    error: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
struct DatabaseCheck {
    ok: bool,
    error: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
struct WorkerCheck {
    ok: bool,
    /// When background work last gave a sign of life: this process's, or, without the role worker, that of
    /// any process that has it.
    last_heartbeat: Option<DateTime<Utc>>,
    error: Option<&'static str>,
}

/// A line for each replica of the database that answers no reads. The service is ready without them.
async fn replicas(app: &App) -> String {
    let states = tokio::time::timeout(CHECK_TIMEOUT, app.store.replicas()).await;
    let states = states
        .unwrap_or_else(|_| Ok(Vec::new()))
        .unwrap_or_default();
    let lines = states.iter().enumerate().filter_map(|(place, state)| {
        let problem = state.problem()?;
        Some(format!("\nreplica {place} of the database {problem}"))
    });
    lines.collect()
}

/// When a process with the role worker was last seen, asked for by one without it.
async fn worker_elsewhere(app: &App) -> Option<DateTime<Utc>> {
    if app.heartbeat.is_worker() {
        return None;
    }
    let seen = tokio::time::timeout(CHECK_TIMEOUT, app.store.worker_seen(app.clock.now())).await;
    match seen {
        Ok(Ok(seen)) => seen,
        // The database is checked beside this.
        Ok(Err(_)) | Err(_) => None,
    }
}

/// Readiness: the database answers and takes writes, the blob store answers, the background work of this process is alive, and
/// that of a process with the role worker, this one or another. Replicas of the database that are of no
/// use are named on lines of their own.
#[utoipa::path(
    get,
    path = "/v1/ready",
    tag = "Health",
    security(()),
    responses(
        (status = 200, description = "Ready for requests", body = String,
         content_type = "text/plain", example = "ready"),
        (status = 503, description = "Not ready; says why", body = Unhealthy),
    )
)]
pub(super) async fn ready(State(app): State<App>) -> Response {
    let blobs = async {
        let blobs = app.store.blobs()?;
        let problem = blobs.problem(CHECK_TIMEOUT).await;
        let error = problem.map(|_| "the blob store does not answer");
        Some(BlobCheck {
            ok: error.is_none(),
            error,
        })
    };
    let database = async {
        app.store.reach().await?;
        app.store.ping().await?;
        app.store.takes_writes().await
    };
    let ping = tokio::time::timeout(CHECK_TIMEOUT, database);
    let (database, blobs, seen) = tokio::join!(ping, blobs, worker_elsewhere(&app));
    let database = match database {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some("the database takes no writes: it only reads, or its disk is full"),
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready: the database failed");
            Some("the database does not answer")
        }
        Err(_) => Some("the database took longer than 2 seconds"),
    };
    let (heartbeat, now) = (&app.heartbeat, app.clock.now());
    let (last_heartbeat, elsewhere) = match heartbeat.is_worker() {
        true => (heartbeat.last(), None),
        false => (seen, heartbeat.problem_elsewhere(seen, now)),
    };
    let worker = heartbeat.problem(now).or(elsewhere);
    let bodies_fail = blobs.as_ref().is_some_and(|blobs| !blobs.ok);
    if database.is_none() && worker.is_none() && !bodies_fail {
        return format!("ready{}", replicas(&app).await).into_response();
    }
    let body = Unhealthy {
        status: "unhealthy",
        checks: Checks {
            database: DatabaseCheck {
                ok: database.is_none(),
                error: database,
            },
            worker: WorkerCheck {
                ok: worker.is_none(),
                last_heartbeat,
                error: worker,
            },
            blobs,
        },
    };
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}
