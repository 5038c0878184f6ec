//! The router: every operation, and what stands around it.

use axum::Router;
use axum::response::IntoResponse as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::entry::Entry;
use crate::error::ApiError;
use crate::inside::Inside;
use crate::warnings::Operations;
use crate::{
    actors, billing, cloud, console, crawls, crons, deliveries, fetchers, health, keys, llms, logs,
    mcp, metrics, openapi, plugins, robots, scan, signup, usage, webhook,
};

/// The whole service.
pub fn service(app: App) -> Entry {
    let inside = inside(&app);
    let faces = console::routes(&app, &inside).merge(mcp::routes(&app, &inside));
    let (router, document) = operations().merge(faces).split_for_parts();
    let mut paths: Vec<String> = document.paths.paths.keys().cloned().collect();
    let operations = openapi::value(&document);
    let operations = Operations::of(&operations);
    let document = openapi::complete(document);
    paths.push("/openapi.json".to_owned());
    paths.extend(console::PATHS.map(str::to_owned));
    let mut router = router
        .route("/openapi.json", openapi::route(&document))
        .merge(openapi::docs());
    if app.settings.public_metrics {
        router = router.merge(metrics::routes());
    }
    enter(router, app, paths, operations)
}

/// The API alone, for the faces of this process.
pub(crate) fn inside(app: &App) -> Inside {
    let (router, document) = operations().split_for_parts();
    let operations = Operations::of(&openapi::value(&document));
    let document = openapi::value(&openapi::complete(document));
    let limit = app.settings.request_timeout;
    Inside::new(finished(router, app), operations, document, limit)
}

/// A router with what stands around every route: ids, the envelope, the net for panics,
/// time limits, metrics, the request log. `paths` are the routes that metrics tell apart.
pub fn around(router: Router<App>, app: App, paths: Vec<String>) -> Entry {
    enter(router, app, paths, Operations::default())
}

fn enter(router: Router<App>, app: App, paths: Vec<String>, operations: Operations) -> Entry {
    let router = finished(router, &app);
    Entry::new(app, router, paths, operations)
}

fn finished(router: Router<App>, app: &App) -> Router {
    router
        .method_not_allowed_fallback(async || ApiError::method_not_allowed().into_response())
        .fallback(async || ApiError::no_such_path().into_response())
        .with_state(app.clone())
}

/// The OpenAPI document of what this version serves.
pub fn document() -> OpenApi {
    let faces = console::described().merge(mcp::described());
    openapi::complete(operations().merge(faces).into_openapi())
}

/// Prometheus metrics alone, for a port of their own.
pub fn metrics_service(app: App) -> Entry {
    around(metrics::routes(), app, Vec::new())
}

fn operations() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base())
        .merge(health::routes())
        .merge(crawls::routes())
        .merge(crons::routes())
        .merge(deliveries::routes())
        .merge(scan::routes())
        .merge(cloud::routes())
        .merge(robots::routes())
        .merge(logs::routes())
        .merge(usage::routes())
        .merge(keys::routes())
        .merge(webhook::routes())
        .merge(signup::routes())
        .merge(billing::routes())
        .merge(actors::routes())
        .merge(llms::routes())
        .merge(fetchers::routes())
        .merge(plugins::routes())
}
