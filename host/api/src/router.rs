//! The router: all operations, and the layers around them.

use axum::Router;
use utoipa::openapi::OpenApi;

use crate::app::App;
use crate::entry::Entry;
use crate::rest::{finished, inside, operations};
use crate::warnings::Operations;
use crate::{console, mcp, metrics, openapi};

/// The whole service.
pub fn service(app: App) -> Entry {
    let inside = inside(&app);
    let faces = console::routes(&inside).merge(mcp::routes(&app, &inside));
    let (router, document) = operations().merge(faces).split_for_parts();
    let mut paths: Vec<String> = document.paths.paths.keys().cloned().collect();
    let operations = openapi::value(&document);
    let operations = Operations::from_document(&operations);
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

/// Adds to a router what all routes need: ids, the envelope, handling of panics, time limits,
/// metrics, the request log. `paths` are the routes with metrics of their own.
pub fn around(router: Router<App>, app: App, paths: Vec<String>) -> Entry {
    enter(router, app, paths, Operations::default())
}

fn enter(router: Router<App>, app: App, paths: Vec<String>, operations: Operations) -> Entry {
    let router = finished(router, &app);
    Entry::new(app, router, paths, operations)
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
