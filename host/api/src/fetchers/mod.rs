//! Per-domain fetchers: structured data of well-known sites.

mod fetch;
mod scrapers;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(fetch::fetch_domain))
        .routes(routes!(fetch::fetch_domain_path))
        .routes(routes!(scrapers::list_scrapers))
}
