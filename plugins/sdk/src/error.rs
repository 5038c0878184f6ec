//! Errors of plugin calls.

use std::fmt;

/// Why a call failed, by its cause. The host maps each kind to a status code, so the choice is part
/// of a plugin's behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The caller's input is wrong; names the field and the rule. HTTP 422.
    InvalidInput(String),
    /// A page could not be fetched (DNS, TLS, connect, time-out). HTTP 502.
    FetchFailed(String),
    /// The host refused: not granted, over a budget (HTTP 500); or the guard or robots.txt
    /// refuses a target (HTTP 422, where the message still holds the host's).
    Denied(String),
    /// The plugin could not do its work. HTTP 500.
    Failed(String),
}

impl Error {
    /// Creates an [`Error::InvalidInput`] from a displayable value.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self::InvalidInput(message.to_string())
    }

    /// Creates an [`Error::Failed`] from a displayable value.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The message without its kind.
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidInput(m) | Self::FetchFailed(m) | Self::Denied(m) | Self::Failed(m) => m,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::InvalidInput(_) => "invalid input",
            Self::FetchFailed(_) => "fetch failed",
            Self::Denied(_) => "denied",
            Self::Failed(_) => "failed",
        };
        write!(f, "{kind}: {}", self.message())
    }
}

impl std::error::Error for Error {}

/// A plain message becomes a failure of the plugin.
impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// A plain message becomes a failure of the plugin.
impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::Failed(message.to_owned())
    }
}

/// JSON that a plugin cannot read or write is its own failure, because the caller's input was
/// checked before.
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<orbweaver_dom::SnapshotError> for Error {
    fn from(error: orbweaver_dom::SnapshotError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<std::fmt::Error> for Error {
    fn from(error: std::fmt::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<std::num::ParseIntError> for Error {
    fn from(error: std::num::ParseIntError) -> Self {
        Self::Failed(error.to_string())
    }
}
