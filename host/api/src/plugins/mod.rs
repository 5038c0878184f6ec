//! The administration of plugins: those of the instance, and those of a project alone.

mod calls;
mod item;
mod list;
mod logs;
mod metrics;
mod name;
mod records;
mod remove;
mod replay;
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
        .routes(routes!(logs::plugin_logs))
        .routes(routes!(calls::plugin_calls))
        .routes(routes!(calls::plugin_call))
        .routes(routes!(replay::replay_plugin_call))
        .routes(routes!(versions::list_plugin_versions))
        .routes(routes!(rollback::roll_back_plugin))
}
