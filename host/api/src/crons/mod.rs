//! Monitors: crawls that recur. POST /v1/crawls with `cron` makes them.

mod change;
mod create;
mod delete;
mod list;
mod one;
mod path;
mod view;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) use create::{Made, create, replayed};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_crons))
        .routes(routes!(
            one::get_cron,
            change::change_cron,
            delete::delete_cron
        ))
}
