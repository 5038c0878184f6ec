//! Ids in paths; a malformed id is answered 404, like an unknown one.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use orbweaver_core::ids::{DeliveryId, RunId};

use crate::app::App;
use crate::error::ApiError;

/// `{id}` of a run and `{delivery}` of one of its deliveries.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryPath {
    pub(super) run: RunId,
    pub(super) delivery: DeliveryId,
}

impl FromRequestParts<App> for DeliveryPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path((run, delivery)) = Path::<(String, String)>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_delivery())?;
        Ok(Self {
            run: run.parse().map_err(|_| no_delivery())?,
            delivery: delivery.parse().map_err(|_| no_delivery())?,
        })
    }
}

pub(super) fn no_delivery() -> ApiError {
    ApiError::not_found("there is no such delivery of a crawl in this project")
}
