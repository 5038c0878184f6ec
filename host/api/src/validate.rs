//! Rules of lists' parameters, and rules that several requests share, as errors of the API.

use std::collections::BTreeMap;

use orbweaver_pipeline::rules::{self, InvalidField};
use orbweaver_pipeline::{Content, Pipeline};
use serde_json::Value;

use crate::app::App;
use crate::error::ApiError;

impl From<InvalidField> for ApiError {
    fn from(error: InvalidField) -> Self {
        Self::invalid(&error.field, error.rule)
    }
}

/// Checks an absolute http or https URL with the guard.
pub(crate) fn url(app: &App, field: &str, url: &str) -> Result<(), ApiError> {
    Ok(rules::url(&app.pipeline, field, url)?)
}

/// Checks a value for `User-Agent`.
pub(crate) fn user_agent(agent: Option<&str>) -> Result<(), ApiError> {
    Ok(rules::user_agent(agent)?)
}

/// Checks a cache window.
pub(crate) fn max_age(seconds: Option<u64>) -> Result<(), ApiError> {
    Ok(rules::max_age(seconds)?)
}

/// Checks names of extractors: they must be loaded.
pub(crate) fn extractors(pipeline: &Pipeline, names: &[String]) -> Result<(), ApiError> {
    Ok(rules::extractors(pipeline, names)?)
}

/// The content of a scan with the options of its extractors, which are checked.
pub(crate) async fn with_options(
    pipeline: &Pipeline,
    content: Content,
    options: BTreeMap<String, Value>,
) -> Result<Content, ApiError> {
    if options.is_empty() {
        return Ok(content);
    }
    let roles = content.roles(pipeline.extras());
    let is_run = |role: &str| roles.iter().any(|request| request.role == role);
    let options = pipeline.check_extractor_options(options, &is_run).await?;
    Ok(Content { options, ..content })
}

/// The largest whole number that every JSON reader keeps exactly (RFC 8259, section 6).
const MAX_OFFSET: u64 = (1 << 53) - 1;

/// Number of items of a list: 1 to `most`.
pub(crate) fn limit(given: Option<u32>, default: u32, most: u32) -> Result<u32, ApiError> {
    let limit = given.unwrap_or(default);
    if (1..=most).contains(&limit) {
        Ok(limit)
    } else {
        Err(ApiError::invalid(
            "limit",
            format!("must be between 1 and {most}"),
        ))
    }
}

/// Number of items of a list to skip.
pub(crate) fn offset(given: Option<u64>) -> Result<u64, ApiError> {
    let offset = given.unwrap_or(0);
    if offset <= MAX_OFFSET {
        Ok(offset)
    } else {
        Err(ApiError::invalid(
            "offset",
            "must be at most 9007199254740991",
        ))
    }
}

/// A name of a request, for an error's message.
pub(crate) fn shown(given: &str) -> String {
    given.chars().filter(|c| !c.is_control()).take(80).collect()
}
