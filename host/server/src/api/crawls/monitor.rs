//! A crawl with `cron`: a monitor instead of a run.

use axum::response::Response;

use super::request::Checked;
use crate::api::context::Ctx;
use crate::api::error::ApiError;

/// Answers POST /v1/crawls where `cron` is set.
pub(super) async fn create(_: &Ctx, _: &Checked, _: &str) -> Result<Response, ApiError> {
    Err(ApiError::not_configured(
        "cron: this version has no monitors; leave it out for a single run",
    ))
}
