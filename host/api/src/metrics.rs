//! GET /metrics: Prometheus.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::CONTENT_TYPE;

use super::error::ApiError;
use crate::app::App;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/metrics", get(metrics))
}

async fn metrics(State(app): State<App>) -> Response {
    match &app.metrics {
        Some(handle) => (
            [(CONTENT_TYPE, "text/plain; version=0.0.4")],
            handle.render(),
        )
            .into_response(),
        None => ApiError::no_such_path().into_response(),
    }
}
