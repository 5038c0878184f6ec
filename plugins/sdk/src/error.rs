//! Errors of plugin calls.

use std::fmt;
use std::time::Duration;

/// The cause of an [`Error`]. The host maps it to an HTTP status, so the choice is part of a plugin's
/// behaviour. A later version may add causes; one that this SDK does not know reads as
/// [`Failed`](Self::Failed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An argument or the caller's input is wrong. HTTP 422.
    InvalidInput,
    /// The host's guard refuses the target. HTTP 422.
    BlockedAddress,
    /// robots.txt refuses the target, or can't be had. HTTP 422.
    Robots,
    /// The name of a server does not resolve. HTTP 502.
    Dns,
    /// No connection to a server, or it broke. HTTP 502.
    Connect,
    /// The TLS handshake with a server failed. HTTP 502.
    Tls,
    /// A server did not answer in time. HTTP 502.
    Timeout,
    /// A response is larger than the limit. HTTP 502.
    TooLarge,
    /// A server's response is of no use: broken HTTP, an unexpected status or form. HTTP 502.
    BadResponse,
    /// The host has no browser, proxy pool and so on. HTTP 501.
    NotConfigured,
    /// A cap of the project or of the service is reached for now. HTTP 429.
    Quota,
    /// The operator or the project has not granted it. HTTP 500.
    NotGranted,
    /// A budget of this call is exhausted. HTTP 500.
    Budget,
    /// The call is being ended. HTTP 500.
    Cancelled,
    /// Anything else. HTTP 500.
    Failed,
}

impl Code {
    /// Every code.
    const ALL: [Self; 15] = [
        Self::InvalidInput,
        Self::BlockedAddress,
        Self::Robots,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::TooLarge,
        Self::BadResponse,
        Self::NotConfigured,
        Self::Quota,
        Self::NotGranted,
        Self::Budget,
        Self::Cancelled,
        Self::Failed,
    ];

    /// Its name in the interface: `invalid-input`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid-input",
            Self::BlockedAddress => "blocked-address",
            Self::Robots => "robots",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::TooLarge => "too-large",
            Self::BadResponse => "bad-response",
            Self::NotConfigured => "not-configured",
            Self::Quota => "quota",
            Self::NotGranted => "not-granted",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// The code of this name; [`Failed`](Self::Failed) if it is unknown.
    pub fn of(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|code| code.as_str() == name);
        known.unwrap_or(Self::Failed)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call failed: a [`Code`], a message, and where they help a field and a time.
///
/// ```
/// use orbweaver_sdk::{Code, Error};
/// fn check(depth: u32) -> Result<u32, Error> {
///     if depth > 50 {
///         return Err(Error::field("depth", "must be at most 50"));
///     }
///     Ok(depth)
/// }
/// let error = check(51).unwrap_err();
/// assert_eq!(error.code(), Code::InvalidInput);
/// assert_eq!(error.message(), "depth: must be at most 50");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    message: String,
    field: Option<String>,
    retry_after: Option<Duration>,
}

impl Error {
    /// Creates an error. The message is for people, and complete without the code.
    pub fn new(code: Code, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
            field: None,
            retry_after: None,
        }
    }

    /// The caller's input is wrong. The message names the field and the rule:
    /// `depth: must be at most 50`; the field is taken from it.
    pub fn invalid(message: impl fmt::Display) -> Self {
        let mut error = Self::new(Code::InvalidInput, message);
        let is_path = |text: &str| {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._-[]".contains(&b);
            (1..=200).contains(&text.len()) && text.bytes().all(allowed)
        };
        let field = error.message.split_once(": ").map(|(field, _)| field);
        error.field = field.filter(|field| is_path(field)).map(str::to_owned);
        error
    }

    /// A field of the caller's input breaks a rule: `must be at most 50`.
    pub fn field(field: &str, rule: impl fmt::Display) -> Self {
        Self {
            field: Some(field.to_owned()),
            ..Self::new(Code::InvalidInput, format_args!("{field}: {rule}"))
        }
    }

    /// A server answered with something of no use, such as an unexpected status.
    pub fn bad_response(message: impl fmt::Display) -> Self {
        Self::new(Code::BadResponse, message)
    }

    /// The plugin could not do its work.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(Code::Failed, message)
    }

    /// The same error, with the time after which it is worth trying again.
    #[must_use]
    pub fn retry_after(self, time: Duration) -> Self {
        Self {
            retry_after: Some(time),
            ..self
        }
    }

    /// The cause.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The message, complete without the code.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The field of the input, or the argument, that is wrong.
    pub fn wrong_field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// When it is worth trying again.
    pub const fn retry_time(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Whether the input, or an argument, is wrong.
    pub fn is_invalid(&self) -> bool {
        self.code == Code::InvalidInput
    }

    /// Whether a server could not be reached, or did not answer with what was asked for.
    pub const fn is_fetch(&self) -> bool {
        matches!(
            self.code,
            Code::Dns
                | Code::Connect
                | Code::Tls
                | Code::Timeout
                | Code::TooLarge
                | Code::BadResponse
        )
    }

    /// Whether a cap or a budget is used up, or the call is being ended. The error then says nothing
    /// about the target: a list of results counts it as not requested, beside those that failed.
    pub const fn is_exhaustion(&self) -> bool {
        matches!(self.code, Code::Quota | Code::Budget | Code::Cancelled)
    }

    /// Whether the host did not do what was asked: the guard, robots.txt, a permission, a budget or
    /// a cap is against it, or something is not configured.
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self.code,
            Code::BlockedAddress
                | Code::Robots
                | Code::NotConfigured
                | Code::Quota
                | Code::NotGranted
                | Code::Budget
                | Code::Cancelled
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}

/// A plain message becomes a failure of the plugin.
impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

/// A plain message becomes a failure of the plugin.
impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

/// A selector that a plugin writes wrong is its own failure.
impl From<crate::dom::SelectorError> for Error {
    fn from(error: crate::dom::SelectorError) -> Self {
        Self::failed(error)
    }
}

/// JSON that a plugin cannot read or write is its own failure, because the caller's input was
/// checked before.
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error)
    }
}

impl From<orbweaver_dom::SnapshotError> for Error {
    fn from(error: orbweaver_dom::SnapshotError) -> Self {
        Self::failed(error)
    }
}

impl From<std::fmt::Error> for Error {
    fn from(error: std::fmt::Error) -> Self {
        Self::failed(error)
    }
}

impl From<std::num::ParseIntError> for Error {
    fn from(error: std::num::ParseIntError) -> Self {
        Self::failed(error)
    }
}

#[cfg(target_family = "wasm")]
mod raw {
    use std::time::Duration;

    use super::{Code, Error};
    use crate::bindings::host::orbweaver::plugin::types;

    impl From<Error> for types::Error {
        fn from(error: Error) -> Self {
            let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            Self {
                code: error.code.as_str().to_owned(),
                message: error.message,
                field: error.field,
                retry_after_ms: error.retry_after.map(millis),
            }
        }
    }

    impl From<types::Error> for Error {
        fn from(error: types::Error) -> Self {
            Self {
                code: Code::of(&error.code),
                message: error.message,
                field: error.field,
                retry_after: error.retry_after_ms.map(Duration::from_millis),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_as_it_is_written_and_unknown_ones_as_failed() {
        for code in Code::ALL {
            assert_eq!(Code::of(code.as_str()), code);
        }
        for unknown in ["", "sold-out", "Failed"] {
            assert_eq!(Code::of(unknown), Code::Failed, "{unknown}");
        }
    }

    #[test]
    fn a_wrong_field_is_named_by_both_constructors() {
        let one = Error::invalid("items[0].n: must be a number");
        let two = Error::field("items[0].n", "must be a number");
        assert_eq!(one, two);
        assert_eq!(one.wrong_field(), Some("items[0].n"));
        assert_eq!(Error::invalid("no such thing: x").wrong_field(), None);
        assert_eq!(
            one.to_string(),
            "invalid-input: items[0].n: must be a number"
        );
    }
}
