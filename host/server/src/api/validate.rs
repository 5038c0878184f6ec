//! Rules that several requests share. Each names the field and the rule that it breaks.

use http::HeaderValue;
use orbweaver_engine::Kind;
use orbweaver_fetch::ProxyUrl;

use super::error::ApiError;
use crate::app::App;

/// Ten years; more is no window any more.
pub(super) const MAX_AGE_SECONDS: u64 = 315_360_000;
const MAX_USER_AGENT: usize = 1_024;
/// Extractors that one request may add.
const MAX_EXTRACTORS: usize = 16;

/// An absolute http or https URL that the guard lets through.
pub(super) fn url(app: &App, field: &str, url: &str) -> Result<(), ApiError> {
    // Parsers of URLs forgive spaces, missing slashes and other schemes; the API does not.
    let starts = |with: &str| {
        url.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if !starts("http://") && !starts("https://") {
        return Err(ApiError::invalid(
            field,
            "must start with http:// or https://",
        ));
    }
    app.pipeline
        .fetcher
        .judge(url)
        .map(|_| ())
        .map_err(|refusal| ApiError::invalid(field, refusal))
}

/// A proxy (http, https or socks5) that the guard lets through by its form; what its name
/// resolves to is judged when it is connected to.
pub(super) fn proxy(app: &App, field: &str, proxy: &str) -> Result<(), ApiError> {
    let proxy: ProxyUrl = proxy
        .parse()
        .map_err(|error| ApiError::invalid(field, error))?;
    app.pipeline
        .fetcher
        .judge_proxy(&proxy)
        .map_err(|refusal| ApiError::invalid(field, refusal))
}

/// What can be sent as `User-Agent`.
pub(super) fn user_agent(agent: Option<&str>) -> Result<(), ApiError> {
    let Some(agent) = agent else { return Ok(()) };
    if agent.len() > MAX_USER_AGENT {
        return Err(ApiError::invalid(
            "user_agent",
            "must be at most 1024 characters",
        ));
    }
    if HeaderValue::from_str(agent).is_err() {
        return Err(ApiError::invalid("user_agent", "must be printable ASCII"));
    }
    Ok(())
}

/// A cache window.
pub(super) fn max_age(seconds: Option<u64>) -> Result<(), ApiError> {
    if seconds.is_some_and(|seconds| seconds > MAX_AGE_SECONDS) {
        return Err(ApiError::invalid(
            "max_age_seconds",
            "must be at most 315360000 (ten years)",
        ));
    }
    Ok(())
}

/// The largest whole number that every JSON reader keeps exactly.
const MAX_OFFSET: u64 = (1 << 53) - 1;

/// How many items of a list: 1 to `most`.
pub(super) fn limit(given: Option<u32>, default: u32, most: u32) -> Result<u32, ApiError> {
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

/// How many items of a list to leave out.
pub(super) fn offset(given: Option<u64>) -> Result<u64, ApiError> {
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

/// Names of extractors that are loaded.
pub(super) fn extractors(app: &App, names: &[String]) -> Result<(), ApiError> {
    if names.len() > MAX_EXTRACTORS {
        return Err(ApiError::invalid("extractors", "must be at most 16 names"));
    }
    for (index, name) in names.iter().enumerate() {
        if app.pipeline.engine.role(name).is_none() {
            let loaded: Vec<String> = app
                .pipeline
                .engine
                .plugins()
                .into_iter()
                .filter(|plugin| plugin.kind == Kind::Extractor)
                .flat_map(|plugin| plugin.roles)
                .collect();
            return Err(ApiError::invalid(
                &format!("extractors[{index}]"),
                format!(
                    "no extractor `{name}` is loaded; there are {}",
                    loaded.join(", ")
                ),
            ));
        }
    }
    Ok(())
}
