//! The HTTP interface: one folder per resource, one file per endpoint.

mod context;
mod error;
mod health;
mod idempotency;
mod input;
mod logs;
mod metrics;
mod openapi;
mod robots;
mod scan;
mod scope;
mod validate;

use axum::middleware;
use axum::response::IntoResponse as _;
use axum::{Json, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use error::ApiError;
pub use scope::REQUEST_ID;

use crate::app::App;

/// The whole service as a router.
pub fn router(app: App) -> Router {
    let (router, document) = operations().split_for_parts();
    let document = openapi::complete(document);
    let mut router = router
        .route("/openapi.json", openapi::route(&document))
        .merge(openapi::docs());
    if app.config.metrics.public {
        router = router.merge(metrics::routes());
    }
    around(router, app)
}

/// What stands around every route: ids, the envelope, the net for panics, time limits,
/// metrics, the request log.
pub fn around(router: Router<App>, app: App) -> Router {
    router
        .method_not_allowed_fallback(async || ApiError::method_not_allowed().into_response())
        .fallback(async || ApiError::no_such_path().into_response())
        .route_layer(middleware::from_fn(scope::remember_route))
        .layer(middleware::from_fn_with_state(app.clone(), scope::layer))
        .with_state(app)
}

/// The OpenAPI document of what this version serves.
pub fn document() -> OpenApi {
    openapi::complete(operations().into_openapi())
}

/// Prometheus metrics alone, for a port of their own.
pub fn metrics_router(app: App) -> Router {
    around(metrics::routes(), app)
}

fn operations() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base())
        .merge(health::routes())
        .merge(scan::routes())
        .merge(robots::routes())
        .merge(logs::routes())
}

/// JSON that was put together already.
fn raw_json(body: String) -> axum::response::Response {
    ([(http::header::CONTENT_TYPE, "application/json")], body).into_response()
}

type JsonAnswer<T> = Result<Json<T>, ApiError>;
