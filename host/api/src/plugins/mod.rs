//! The administration of plugins: those of the instance, and those of a project alone.

mod item;
mod list;
mod metrics;
mod name;
mod remove;
mod rollback;
mod scope;
mod show;
mod upload;
mod versions;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_plugins))
        .routes(routes!(
            show::show_plugin,
            upload::upload_plugin,
            remove::remove_plugin
        ))
        .routes(routes!(metrics::plugin_metrics))
        .routes(routes!(versions::list_plugin_versions))
        .routes(routes!(rollback::roll_back_plugin))
}
