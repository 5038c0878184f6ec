//! Endpoints for a site's robots.txt and llms.txt.

mod policy;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(policy::robots_policy))
}
