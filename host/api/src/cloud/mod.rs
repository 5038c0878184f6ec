//! Pages by way of a browser, proxy pools or an upstream provider; search; transformation.

mod balance;
mod body;
mod crawl;
mod links;
mod proxy_fetch;
mod render;
mod scrape;
mod screenshot;
mod search;
mod transform;
mod unblock;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use screenshot::deprecate;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(screenshot_routes())
        .routes(routes!(scrape::scrape))
        .routes(routes!(crawl::crawl))
        .routes(routes!(search::search))
        .routes(routes!(links::links))
        .routes(routes!(balance::balance))
        .routes(routes!(proxy_fetch::proxy_fetch))
        .routes(routes!(transform::transform))
        .routes(routes!(unblock::unblock))
        .routes(routes!(render::render))
}

#[expect(deprecated, reason = "the contract keeps the endpoint")]
fn screenshot_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(screenshot::screenshot))
}
