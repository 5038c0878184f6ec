//! The console: pages for people, made on the server.
//!
//! Its pages have no script of their own and none of a stranger's: the content security policy
//! admits this server's files alone, templates escape what they print, and text of stored pages
//! is shown as text or as Markdown without HTML.

mod assets;
mod render;
mod root;

use axum::Router;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::inside::Inside;

/// Routes beside `/`, for metrics.
pub(crate) const PATHS: [&str; 1] = ["/console/{file}"];

/// The routes.
pub(crate) fn routes(_: &App, _: &Inside) -> OpenApiRouter<App> {
    let files = Router::new().route("/console/{file}", get(assets::asset));
    described().merge(files.into())
}

/// The routes that the OpenAPI document has.
pub(crate) fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(root::root))
}
