//! GET /v1/actors/{name}/runs.

use axum::Json;
use axum::extract::Path;
use orbweaver_store::jobs::JobFilter;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::answer::{Run, Status};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;
use crate::input::Query;
use crate::validate;

const MAX_LIMIT: u32 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many runs.
    #[param(minimum = 1, maximum = 1_000, default = 100)]
    limit: Option<u32>,
    /// How many of the youngest to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Only runs in this state.
    #[param(inline)]
    status: Option<Status>,
}

/// Runs, the youngest first.
#[derive(Serialize, ToSchema)]
#[schema(as = ActorRuns)]
pub(super) struct Runs {
    items: Vec<Run>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// The project's runs of an actor, the youngest first. They stay when the actor is removed.
#[utoipa::path(
    get,
    path = "/v1/actors/{name}/runs",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(("name" = String, Path, description = "The actor's name"), Params),
    responses((status = 200, description = "Runs", body = Runs), CommonErrors)
)]
pub(super) async fn list_runs(
    ctx: Ctx,
    Path(actor): Path<String>,
    query: Query<Params>,
) -> JsonAnswer<Runs> {
    let limit = validate::limit(query.0.limit, 100, MAX_LIMIT)?;
    let offset = validate::offset(query.0.offset)?;
    let filter = JobFilter {
        actor: &actor,
        state: query.0.status.map(Into::into),
        limit: limit + 1,
        offset,
    };
    // No actor has a name with NUL, which PostgreSQL takes in no text.
    let mut jobs = match actor.contains('\0') {
        true => Vec::new(),
        false => ctx.app.store.jobs(ctx.principal.project, &filter).await?,
    };
    let more = jobs.len() > limit as usize;
    jobs.truncate(limit as usize);
    Ok(Json(Runs {
        items: jobs.into_iter().map(Run::from).collect(),
        next_offset: more.then(|| offset + u64::from(limit)),
    }))
}
