//! Liveness and readiness.

mod cloud;
mod live;
mod ready;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(live::health))
        .routes(routes!(ready::ready))
        .routes(routes!(cloud::cloud_health))
}
