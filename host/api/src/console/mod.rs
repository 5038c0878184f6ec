//! The console: pages for people, made on the server.
//!
//! It asks the API as any client does (`crate::inside`), with the key of who is signed in. Its
//! content security policy admits this server's files alone, templates escape what they print, and
//! text of stored pages is shown as text or as Markdown without HTML. Everything works without
//! JavaScript; the one script shows progress as it comes.

mod actors;
mod assets;
mod crawl_form;
mod crawls;
mod forms;
mod given;
mod graph;
mod keys;
mod markdown;
mod monitors;
mod notice;
mod pages;
mod playground;
mod plugins;
mod render;
mod rendering;
mod root;
mod samples;
mod session;
mod sides;
mod sign_in;
mod usage;
mod usage_chart;
mod visitor;

pub(crate) use root::wants_html;

use axum::routing::{get, post};
use axum::{Extension, Router};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::inside::Inside;

/// Routes beside `/`, for metrics.
pub(crate) const PATHS: [&str; 25] = [
    "/console/actors",
    "/console/actors/{name}",
    "/console/assets/{file}",
    "/console/crawls",
    "/console/crawls/{id}",
    "/console/crawls/{id}/delete",
    "/console/crawls/{id}/deliveries/{delivery}",
    "/console/crawls/{id}/events",
    "/console/diff",
    "/console/keys",
    "/console/keys/rotate",
    "/console/keys/{prefix}/revoke",
    "/console/monitors",
    "/console/monitors/{id}",
    "/console/monitors/{id}/{action}",
    "/console/pages/{id}",
    "/console/plugins",
    "/console/plugins/{name}",
    "/console/plugins/{name}/calls/{id}",
    "/console/render",
    "/console/scan",
    "/console/search",
    "/console/sign-in",
    "/console/sign-out",
    "/console/usage",
];

/// The routes; its pages send their requests to `inside`.
pub(crate) fn routes(inside: &Inside) -> OpenApiRouter<App> {
    let pages = Router::new()
        .route("/console/actors", get(actors::list))
        .route(
            "/console/actors/{name}",
            get(actors::form).post(actors::run),
        )
        .route("/console/assets/{file}", get(assets::asset))
        .route("/console/crawls", get(crawls::list).post(crawls::start))
        .route("/console/crawls/{id}", get(crawls::run))
        .route("/console/crawls/{id}/delete", post(crawls::delete))
        .route(
            "/console/crawls/{id}/deliveries/{delivery}",
            post(crawls::redeliver),
        )
        .route("/console/crawls/{id}/events", get(crawls::events))
        .route("/console/diff", get(crawls::diff))
        .route("/console/keys", get(keys::list))
        .route("/console/keys/rotate", post(keys::rotate))
        .route("/console/keys/{prefix}/revoke", post(keys::revoke))
        .route("/console/monitors", get(monitors::list))
        .route("/console/monitors/{id}", get(monitors::one))
        .route("/console/monitors/{id}/{action}", post(monitors::change))
        .route("/console/pages/{id}", get(pages::page))
        .route("/console/plugins", get(plugins::list))
        .route("/console/plugins/{name}", get(plugins::show))
        .route("/console/plugins/{name}/calls/{id}", post(plugins::replay))
        .route(
            "/console/render",
            get(rendering::form).post(rendering::render),
        )
        .route("/console/scan", post(playground::scan))
        .route("/console/search", post(playground::search))
        .route("/console/sign-in", post(sign_in::sign_in))
        .route("/console/sign-out", post(sign_in::sign_out))
        .route("/console/usage", get(usage::show));
    described()
        .merge(pages.into())
        .layer(Extension(inside.clone()))
}

/// The route that the OpenAPI document has.
pub(crate) fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(root::root))
}
