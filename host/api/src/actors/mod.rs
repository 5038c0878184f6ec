//! Actors: plugins that do a task over pages.

mod input;
mod list;
mod openapi;
mod run;
pub(crate) mod runs;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::ApiError;
use crate::app::App;
use orbweaver_actors::CallError;

pub(super) use input::published;
pub(super) use openapi::operations;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_actors))
        .routes(routes!(run::run_actor))
        .merge(runs::routes())
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotFound(what) => Self::not_found(what),
            CallError::Invalid(rule) => Self::breaks(rule),
            CallError::Fetch(why) => Self::fetch_failed(why),
            CallError::NotConfigured(what) => Self::not_configured(what),
            CallError::RateLimited {
                message,
                retry_after_seconds,
            } => Self::rate_limited(message, retry_after_seconds),
            CallError::Quota(error) => error.into(),
            CallError::Busy(busy) => busy.into(),
            CallError::Plugin(why) | CallError::TimedOut(why) => Self::plugin_failed(why),
            CallError::Quarantined {
                message,
                retry_after_seconds,
            } => Self::plugin_refused(message, retry_after_seconds),
            CallError::Internal(cause) => Self::internal(&cause),
        }
    }
}
