//! An actor's name and a run's id in paths; a malformed id is answered 404, like an unknown one.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use orbweaver_core::ids::JobId;
use orbweaver_store::jobs::Job;

use crate::app::App;
use crate::context::Ctx;
use crate::error::ApiError;

/// `{name}` of an actor and `{id}` of one of its runs.
#[derive(Clone, Debug)]
pub(super) struct ActorRunPath {
    pub(super) actor: String,
    pub(super) id: JobId,
}

impl FromRequestParts<App> for ActorRunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path((actor, id)) = Path::<(String, String)>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_run())?;
        let id = id.parse().map_err(|_| no_run())?;
        Ok(Self { actor, id })
    }
}

/// The caller's run of that actor and id.
pub(super) async fn run(ctx: &Ctx, path: &ActorRunPath) -> Result<Job, ApiError> {
    let job = ctx.app.store.job(ctx.principal.project, path.id).await?;
    job.filter(|job| job.actor == path.actor).ok_or_else(no_run)
}

pub(super) fn no_run() -> ApiError {
    ApiError::not_found("there is no such run of this actor in this project")
}
