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
const PATIENCE: Duration = Duration::from_secs(2);

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
    /// When the background work last gave a sign of life.
    last_heartbeat: Option<DateTime<Utc>>,
    error: Option<&'static str>,
}

/// A line for each replica of the database that answers no reads. The service is ready without them.
async fn replicas(app: &App) -> String {
    let states = tokio::time::timeout(PATIENCE, app.store.replicas()).await;
    let states = states
        .unwrap_or_else(|_| Ok(Vec::new()))
        .unwrap_or_default();
    let lines = states.iter().enumerate().filter_map(|(place, state)| {
        let problem = state.problem()?;
        Some(format!("\nreplica {place} of the database {problem}"))
    });
    lines.collect()
}

/// Readiness: the database and the blob store answer, and the background work is alive. Replicas of the
/// database that are of no use are named on lines of their own.
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
        let problem = blobs.problem(PATIENCE).await;
        let error = problem.map(|_| "the blob store does not answer");
        Some(BlobCheck {
            ok: error.is_none(),
            error,
        })
    };
    let ping = tokio::time::timeout(PATIENCE, app.store.ping());
    let (database, blobs) = tokio::join!(ping, blobs);
    let database = match database {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready: the database failed");
            Some("the database does not answer")
        }
        Err(_) => Some("the database took longer than 2 seconds"),
    };
    let last_heartbeat = app.heartbeat.last();
    let worker = app.heartbeat.problem(app.clock.now());
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
