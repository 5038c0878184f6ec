//! The project's keys.

mod list;
mod revoke;
mod rotate;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_keys))
        .routes(routes!(rotate::rotate_keys))
        .routes(routes!(revoke::revoke_key))
}
