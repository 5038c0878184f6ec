//! What signs the project's webhooks, and the receiver of events that belong to no run.

mod receiver;
mod secret;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(secret::webhook_secret))
        .routes(routes!(
            receiver::webhook_receiver,
            receiver::set_webhook_receiver,
            receiver::remove_webhook_receiver
        ))
}
