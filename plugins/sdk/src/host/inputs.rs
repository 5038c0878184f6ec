//! What other roles say of the page, for extractors and for the records of hooks. The manifest lists
//! the roles: `needs = ["article"]`. The host runs each of them once for the page, before this
//! plugin.

use serde::de::DeserializeOwned;

use crate::Error;

/// The output of a role: JSON text, made without options.
///
/// # Errors
/// [`Code::NotGranted`](crate::Code::NotGranted) if the manifest does not list the role;
/// [`Code::Failed`](crate::Code::Failed) if the role failed
/// on this page, or no plugin serves it.
pub fn output(role: &str) -> Result<String, Error> {
    super::backend::input(role)
}

/// The output of a role, read into a type of your own.
///
/// # Errors
/// As [`output`], or the output is of another shape.
pub fn get<T: DeserializeOwned>(role: &str) -> Result<T, Error> {
    Ok(serde_json::from_str(&output(role)?)?)
}
