//! The HTTP interface: one folder per resource, one file per endpoint.

mod actors;
mod base;
mod billing;
mod cloud;
mod context;
pub(crate) mod crawls;
mod crons;
mod deliveries;
mod entry;
mod error;
mod fetchers;
mod health;
mod idempotency;
mod input;
mod keys;
mod llms;
mod logs;
mod measure;
mod metrics;
mod openapi;
mod plugins;
mod robots;
mod scan;
mod scope;
mod signup;
mod usage;
mod validate;
mod webhook;

use axum::response::IntoResponse as _;
use axum::{Json, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use entry::{Entry, REQUEST_ID};
pub use error::ApiError;

use crate::app::App;

/// The whole service.
pub fn service(app: App) -> Entry {
    let (router, document) = operations().split_for_parts();
    let mut paths: Vec<String> = document.paths.paths.keys().cloned().collect();
    let document = openapi::complete(document);
    paths.push("/openapi.json".to_owned());
    let mut router = router
        .route("/openapi.json", openapi::route(&document))
        .merge(openapi::docs());
    if app.config.metrics.public {
        router = router.merge(metrics::routes());
    }
    around(router, app, paths)
}

/// A router with what stands around every route: ids, the envelope, the net for panics,
/// time limits, metrics, the request log. `paths` are the routes that metrics tell apart.
pub fn around(router: Router<App>, app: App, paths: Vec<String>) -> Entry {
    let router = router
        .method_not_allowed_fallback(async || ApiError::method_not_allowed().into_response())
        .fallback(async || ApiError::no_such_path().into_response())
        .with_state(app.clone());
    Entry::new(app, router, paths)
}

/// The OpenAPI document of what this version serves.
pub fn document() -> OpenApi {
    openapi::complete(operations().into_openapi())
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

/// JSON that was put together already.
fn raw_json(body: bytes::Bytes) -> axum::response::Response {
    ([(http::header::CONTENT_TYPE, "application/json")], body).into_response()
}

type JsonAnswer<T> = Result<Json<T>, ApiError>;
