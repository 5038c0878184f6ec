//! Runs of actors in the background.

pub(crate) mod answer;
mod cancel;
mod create;
mod delete;
mod events;
mod items;
mod list;
mod one;
mod path;

use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::openapi::with_forms;

pub(super) fn routes() -> OpenApiRouter<App> {
    let router = OpenApiRouter::new()
        .routes(routes!(create::create_run, list::list_runs))
        .routes(routes!(one::get_run, delete::delete_run))
        .routes(routes!(cancel::cancel_run))
        .routes(routes!(events::run_events))
        .routes(routes!(items::list_items));
    let path = "/v1/actors/{name}/runs/{id}/items";
    with_forms(router, path, &get(items::list_items))
}
