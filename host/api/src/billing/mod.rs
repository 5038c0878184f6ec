//! Payment of signups.

mod checkout;
mod mock;
mod webhook;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::ApiError;
use crate::app::App;
use orbweaver_accounts::billing::BillingError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(checkout::checkout))
        .routes(routes!(mock::mock_checkout))
        .routes(routes!(webhook::billing_webhook))
}

impl From<BillingError> for ApiError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Unknown => Self::not_found("there is no such intent"),
            BillingError::Paid => Self::conflict(error.to_string()),
            BillingError::NotConfigured(what) => Self::not_configured(what),
            BillingError::Provider(what) => Self::fetch_failed(what),
            BillingError::Store(error) => error.into(),
        }
    }
}
