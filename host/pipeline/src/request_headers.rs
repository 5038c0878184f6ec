//! Rules of headers and cookies that a request sends to its targets.

use std::collections::HashSet;

use indexmap::IndexMap;

use crate::invalid_field::InvalidField;

const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 8_192;
const MAX_COOKIE_BYTES: usize = 16_384;

/// Checks headers for a target.
///
/// # Errors
/// The field and the rule.
pub fn headers(given: IndexMap<String, String>) -> Result<Vec<(String, String)>, InvalidField> {
    if given.len() > MAX_HEADERS {
        return Err(InvalidField::new("headers", "must be at most 64 headers"));
    }
    let mut seen = HashSet::new();
    for (name, value) in &given {
        let field = format!("headers.{}", shown(name));
        orbweaver_core::header_rule::check_header(name, value)
            .map_err(|rule| InvalidField::new(&field, rule))?;
        if value.len() > MAX_HEADER_BYTES {
            return Err(InvalidField::new(&field, "must be at most 8192 bytes"));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(InvalidField::new(&field, "is given twice"));
        }
    }
    Ok(given.into_iter().collect())
}

/// A name for a message: shortened, and without line breaks.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

/// Checks cookies for a target: `k=v; k=v`.
///
/// # Errors
/// The field and the rule.
pub fn cookies(given: Option<&str>) -> Result<(), InvalidField> {
    let Some(cookies) = given else { return Ok(()) };
    if cookies.len() > MAX_COOKIE_BYTES {
        return Err(InvalidField::new("cookies", "must be at most 16384 bytes"));
    }
    let is_pair = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, _)| !name.trim().is_empty())
    };
    let mut pairs = cookies.split(';').map(str::trim).filter(|p| !p.is_empty());
    if !pairs.all(is_pair) {
        return Err(InvalidField::new("cookies", "must have the form k=v; k=v"));
    }
    if cookies.chars().any(char::is_control) {
        return Err(InvalidField::new(
            "cookies",
            "must not contain control characters",
        ));
    }
    Ok(())
}
