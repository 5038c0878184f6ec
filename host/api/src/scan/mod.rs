//! Scans: one page, or up to a hundred, while the caller waits.

mod bulk;
mod one;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::ApiError;
use crate::app::App;
use orbweaver_pipeline::ScanError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(one::scan))
        .routes(routes!(bulk::scan_bulk))
}

impl From<ScanError> for ApiError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Refused(why) => Self::invalid("url", why),
            ScanError::Field(error) => error.into(),
            ScanError::Fetch { message, .. } => Self::fetch_failed(message),
            ScanError::NotConfigured(what) => Self::not_configured(what),
            ScanError::Quota(error) => error.into(),
            ScanError::Busy {
                message,
                retry_after,
            } => Self::rate_limited(message, retry_after),
            ScanError::NoRoom(why) => Self::breaks(why),
            ScanError::Plugin(why) => Self::plugin_failed(why),
            ScanError::Unavailable(cause) => Self::unavailable(&cause),
            ScanError::Internal(cause) => Self::internal(&cause),
        }
    }
}
