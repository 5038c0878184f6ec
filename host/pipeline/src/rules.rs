//! Validation rules that several requests share. Errors name the field and the rule.

use orbweaver_engine::Kind;
use orbweaver_fetch::ProxyUrl;

pub use crate::invalid_field::InvalidField;
use crate::pipeline::Pipeline;
pub use crate::request_headers::{cookies, headers};

/// Largest `max_age_seconds`: ten years.
pub const MAX_AGE_SECONDS: u64 = 315_360_000;
/// The largest whole number that every JSON reader keeps exactly (RFC 8259, section 6).
const MAX_CONCURRENCY: u64 = (1 << 53) - 1;
const MAX_USER_AGENT: usize = 1_024;
/// Maximum number of extractors that one request may add.
pub const MAX_EXTRACTORS: usize = 16;
/// Longest options of one extractor as JSON, in bytes.
pub const MAX_OPTIONS_BYTES: usize = 64 << 10;
/// Longest rules and schema of `extract` together as JSON, in bytes.
pub const MAX_EXTRACT_BYTES: usize = 64 << 10;
/// Longest prompt of `extract`, in characters.
pub const MAX_PROMPT: usize = 4_000;

/// Checks an absolute http or https URL, which the guard must accept.
///
/// # Errors
/// The field and the rule.
pub fn url(pipeline: &Pipeline, field: &str, url: &str) -> Result<(), InvalidField> {
    // URL parsers accept spaces, missing slashes and other schemes; the API does not.
    let starts = |with: &str| {
        url.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if !starts("http://") && !starts("https://") {
        return Err(InvalidField::new(
            field,
            "must start with http:// or https://",
        ));
    }
    pipeline
        .fetcher
        .judge(url)
        .map(|_| ())
        .map_err(|refusal| InvalidField::refused(field, &refusal))
}

/// Checks a proxy URL (http, https or socks5), whose form the guard must accept. The addresses
/// of its host name are checked when it is connected to.
///
/// # Errors
/// The field and the rule.
pub fn proxy(pipeline: &Pipeline, field: &str, proxy: &str) -> Result<(), InvalidField> {
    let proxy: ProxyUrl = proxy
        .parse()
        .map_err(|error| InvalidField::new(field, error))?;
    pipeline
        .fetcher
        .judge_proxy(&proxy)
        .map_err(|refusal| InvalidField::refused(field, &refusal))
}

/// Checks a value for the `User-Agent` header.
///
/// # Errors
/// The field and the rule.
pub fn user_agent(agent: Option<&str>) -> Result<(), InvalidField> {
    let Some(agent) = agent else { return Ok(()) };
    // In ASCII, a byte is a character.
    if !agent.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(InvalidField::new(
            "user_agent",
            "must be printable ASCII (space to `~`)",
        ));
    }
    if agent.len() > MAX_USER_AGENT {
        return Err(InvalidField::new(
            "user_agent",
            "must be at most 1024 characters",
        ));
    }
    Ok(())
}

/// Checks `concurrency`, which may be more than what is used.
///
/// # Errors
/// The field and the rule.
pub fn concurrency(given: Option<u64>) -> Result<(), InvalidField> {
    match given {
        Some(0) => Err(InvalidField::new("concurrency", "must be at least 1")),
        Some(number) if number > MAX_CONCURRENCY => Err(InvalidField::new(
            "concurrency",
            "must be at most 9007199254740991",
        )),
        _ => Ok(()),
    }
}

/// Checks `max_age_seconds`.
///
/// # Errors
/// The field and the rule.
pub fn max_age(seconds: Option<u64>) -> Result<(), InvalidField> {
    if seconds.is_some_and(|seconds| seconds > MAX_AGE_SECONDS) {
        return Err(InvalidField::new(
            "max_age_seconds",
            "must be at most 315360000 (ten years)",
        ));
    }
    Ok(())
}

/// Checks that extractors of these names are loaded.
///
/// # Errors
/// The field and the rule.
pub fn extractors(pipeline: &Pipeline, names: &[String]) -> Result<(), InvalidField> {
    if names.len() > MAX_EXTRACTORS {
        return Err(InvalidField::new("extractors", "must be at most 16 names"));
    }
    for (index, name) in names.iter().enumerate() {
        if pipeline.engine.role(name).is_none() {
            if let Some(error) = pipeline.engine.unloaded_role(name) {
                return Err(InvalidField::new(&format!("extractors[{index}]"), error));
            }
            let loaded: Vec<String> = pipeline
                .engine
                .plugins()
                .into_iter()
                .filter(|plugin| plugin.kind == Kind::Extractor)
                .flat_map(|plugin| plugin.roles)
                .collect();
            return Err(InvalidField::new(
                &format!("extractors[{index}]"),
                format!(
                    "extractor `{name}` is not loaded; loaded: {}",
                    loaded.join(", ")
                ),
            ));
        }
    }
    Ok(())
}
