//! Endpoints for the project's usage.

mod calls;
mod history;
mod today;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(today::usage))
        .routes(routes!(history::usage_history))
        .routes(routes!(calls::usage_calls))
}
