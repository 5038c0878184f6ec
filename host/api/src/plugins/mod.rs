//! The administration of plugins.

mod item;
mod list;
mod name;
mod remove;
mod upload;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::context::Ctx;
use super::error::ApiError;
use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_plugins))
        .routes(routes!(upload::upload_plugin, remove::remove_plugin))
}

/// Plugins run for every project: only the administrator's keys may change them.
fn administrator(ctx: &Ctx) -> Result<(), ApiError> {
    if ctx.principal.administrator {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "plugins are managed with a key of the administrator's project, which is the first one",
    ))
}
