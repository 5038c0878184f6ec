//! Deliveries of a run's webhook.

mod list;
mod path;
mod redeliver;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_deliveries))
        .routes(routes!(redeliver::redeliver))
}
