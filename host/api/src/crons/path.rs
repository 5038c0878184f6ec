//! `{id}` of a monitor; a malformed id is answered 404, like an unknown one.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use orbweaver_core::ids::MonitorId;

use crate::app::App;
use crate::error::ApiError;

/// The id in the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonitorPath(pub(super) MonitorId);

impl FromRequestParts<App> for MonitorPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_monitor())?;
        id.parse().map(Self).map_err(|_| no_monitor())
    }
}

pub(super) fn no_monitor() -> ApiError {
    ApiError::not_found("there is no such monitor in this project")
}
