//! Signup: new projects for people without a key.

mod create;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::ApiError;
use crate::app::App;
use orbweaver_accounts::signup::SignupError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create::signup))
}

impl From<SignupError> for ApiError {
    fn from(error: SignupError) -> Self {
        match error {
            SignupError::Refused(field, rule) => Self::invalid(field, rule),
            SignupError::Verifier => Self::fetch_failed(error.to_string()),
            SignupError::Store(error) => error.into(),
            SignupError::Internal(cause) => Self::internal(&cause),
        }
    }
}
