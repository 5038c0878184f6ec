//! Values that a plugin keeps between its calls, for the project of the caller: calls for another
//! project, and other plugins, have values of their own. Needs permission `state`. For actors,
//! fetchers, and hooks of pages.
//!
//! A key has 1 to 256 bytes and no control characters, a value at most 256 KiB.

use std::time::Duration;

use crate::Error;

/// A value and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The value.
    pub value: Vec<u8>,
    /// Increases with every write; at least 1.
    pub version: u64,
}

/// How a value is written. The default writes in any case, for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Write only if this is the current version; 0: only if there is no value.
    pub expected: Option<u64>,
    /// After this time the value is gone.
    pub ttl: Option<Duration>,
}

/// Why a value was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateError {
    /// Another version is current; 0: there is no value.
    Conflict(u64),
    /// Anything else; [`Code::Quota`](crate::Code::Quota) if the values of the project's plugins would
    /// exceed their bounds.
    Error(Error),
}

impl From<Error> for StateError {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Conflict(version) => {
                let rule = "state: other calls have written the value meanwhile";
                let remedy = "read it again, or call `state::update` again";
                Self::failed(format_args!(
                    "{rule}: version {version} is current; {remedy}"
                ))
            }
            StateError::Error(error) => error,
        }
    }
}

/// The value of a key; `None` if there is none or it has expired.
pub fn get(key: &str) -> Result<Option<Entry>, Error> {
    super::backend::state_get(key)
}

/// Writes a value in any case; returns its version.
pub fn put(key: &str, value: &[u8]) -> Result<u64, StateError> {
    put_with(key, value, &Put::default())
}

/// Writes a value; returns its version.
pub fn put_with(key: &str, value: &[u8], options: &Put) -> Result<u64, StateError> {
    super::backend::state_put(key, value, options)
}

/// Deletes a value, which may be absent already; with `expected` only if that is the current version.
pub fn delete(key: &str, expected: Option<u64>) -> Result<(), StateError> {
    super::backend::state_delete(key, expected)
}

/// Keys with this prefix behind `after` (empty: from the first), in byte order, at most `limit` (1,000 at
/// most).
pub fn keys(prefix: &str, after: &str, limit: u32) -> Result<Vec<String>, Error> {
    super::backend::state_keys(prefix, after, limit)
}

/// Changes a value: calls `change` with the current one, and writes its result, again and again until nobody
/// else wrote in between, at most 16 times. The host lets calls that lost a write take turns, so that twice is
/// enough unless the write comes more than a second after the read, or from other nodes.
pub fn update(
    key: &str,
    mut change: impl FnMut(Option<&[u8]>) -> Vec<u8>,
) -> Result<u64, StateError> {
    let changed = update_if(key, None, |old| Some(change(old)))?;
    Ok(changed.unwrap_or_default())
}

/// As [`update`], for a time (`ttl`: `None` for ever), and without a write if `change` returns `None`. Returns the
/// version written.
pub fn update_if(
    key: &str,
    ttl: Option<Duration>,
    mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
) -> Result<Option<u64>, StateError> {
    const ATTEMPTS: u32 = 16;
    let mut last = 0;
    for _ in 0..ATTEMPTS {
        let entry = get(key)?;
        let Some(value) = change(entry.as_ref().map(|entry| entry.value.as_slice())) else {
            return Ok(None);
        };
        let options = Put {
            expected: Some(entry.map_or(0, |entry| entry.version)),
            ttl,
        };
        match put_with(key, &value, &options) {
            Err(StateError::Conflict(version)) => last = version,
            done => return done.map(Some),
        }
    }
    Err(StateError::Conflict(last))
}
