//! Secrets of a project, which the service fills into requests of plugins. No answer has a value.

mod list;
mod put;
mod remove;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::ApiError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_secrets))
        .routes(routes!(put::put_secret, remove::remove_secret))
}

/// Checks the name of a secret.
fn check_name(name: &str) -> Result<(), ApiError> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if (1..=64).contains(&name.len()) && name.chars().all(is_word) {
        return Ok(());
    }
    Err(ApiError::invalid(
        "name",
        "must have 1 to 64 of: lower-case letters, digits, `-`, `_`",
    ))
}
