//! Ids in paths; a malformed id is answered 404, like an unknown one.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use orbweaver_core::ids::{PageId, RunId};
use orbweaver_store::crawl::Run;

use crate::app::App;
use crate::context::Ctx;
use crate::error::ApiError;

/// `{id}` of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPath(pub(crate) RunId);

/// `{id}` of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagePath(pub(super) PageId);

/// `{old_id}` and `{new_id}` of runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwoRuns {
    pub(super) old: RunId,
    pub(super) new: RunId,
}

impl FromRequestParts<App> for RunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_run())?;
        id.parse().map(Self).map_err(|_| no_run())
    }
}

impl FromRequestParts<App> for PagePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_page())?;
        id.parse().map(Self).map_err(|_| no_page())
    }
}

impl FromRequestParts<App> for TwoRuns {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path((old, new)) = Path::<(String, String)>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_run())?;
        Ok(Self {
            old: old.parse().map_err(|_| no_run())?,
            new: new.parse().map_err(|_| no_run())?,
        })
    }
}

/// The caller's run of that id.
pub(super) async fn run(ctx: &Ctx, id: RunId) -> Result<Run, ApiError> {
    let run = ctx.app.store.run(ctx.principal.project, id).await?;
    run.ok_or_else(no_run)
}

pub(crate) fn no_run() -> ApiError {
    ApiError::not_found("there is no such crawl in this project")
}

pub(super) fn no_page() -> ApiError {
    ApiError::not_found("there is no such page in this project")
}
