//! Errors of scans.

use std::borrow::Cow;
use std::fmt;

use orbweaver_accounts::fair::Busy;
use orbweaver_accounts::quota::QuotaError;
use orbweaver_fetch::{FetchError, Kind as FetchKind, SubKind};
use orbweaver_store::StoreError;

use crate::invalid_field::InvalidField;

/// The kind of failure that left a request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A fetch or a render failed.
    Fetch(FetchKind),
    /// The upstream provider failed.
    Vendor,
    /// The search engine failed.
    Search,
}

impl FailureKind {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fetch(kind) => kind.as_str(),
            Self::Vendor => "vendor",
            Self::Search => "search",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why there is no scan result.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The URL, or a redirect target, may not be fetched.
    #[error("{0}")]
    Refused(String),
    /// A field of the request that holds for the page's rendering, such as an action that could
    /// not be done.
    #[error("{0}")]
    Field(InvalidField),
    /// The target gave no response.
    #[error("{message}")]
    Fetch {
        /// The kind of failure.
        kind: FailureKind,
        /// Error message.
        message: String,
    },
    /// A backend is not configured; says what to set.
    #[error("{0}")]
    NotConfigured(Cow<'static, str>),
    /// Too many requests at once; a retry may succeed.
    #[error("{message}")]
    Busy {
        /// What there are too many of.
        message: String,
        /// Seconds after which to retry.
        retry_after: u64,
    },
    /// The answer has no room for another page's result.
    #[error("{0}")]
    NoRoom(String),
    /// A plugin failed whose result the answer needs.
    #[error("{0}")]
    Plugin(String),
    /// A cap is reached, or the project is suspended.
    #[error("{0}")]
    Quota(QuotaError),
    /// The database or the blob store is not available now; has the cause, which is not the client's.
    #[error("the service's database or blob store is not available now; try again later")]
    Unavailable(String),
    /// An internal error.
    #[error("{0}")]
    Internal(String),
}

/// Seconds after which to come again where all browsers, or all memory for large bodies, are
/// in use.
const BUSY_SECONDS: u64 = 5;

impl From<Busy> for ScanError {
    fn from(busy: Busy) -> Self {
        Self::Busy {
            message: busy.to_string(),
            retry_after: busy.retry_after_seconds(),
        }
    }
}

impl From<QuotaError> for ScanError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Store(error) => error.into(),
            error => Self::Quota(error),
        }
    }
}

impl From<FetchError> for ScanError {
    fn from(error: FetchError) -> Self {
        match error.kind {
            FetchKind::InvalidRequest if error.sub == Some(SubKind::Field) => {
                let (field, rule) = error.message.split_once(": ").unwrap_or(("url", ""));
                Self::Field(InvalidField::new(field, rule))
            }
            FetchKind::Refused | FetchKind::Scope | FetchKind::InvalidRequest => {
                Self::Refused(error.message)
            }
            FetchKind::Internal | FetchKind::Browser | FetchKind::Dns
                if error.sub == Some(SubKind::Busy) =>
            {
                Self::Busy {
                    message: error.message,
                    retry_after: BUSY_SECONDS,
                }
            }
            FetchKind::Internal => Self::Internal(error.message),
            kind => Self::Fetch {
                kind: FailureKind::Fetch(kind),
                message: error.message,
            },
        }
    }
}

impl From<StoreError> for ScanError {
    fn from(error: StoreError) -> Self {
        match error.is_transient() {
            true => Self::Unavailable(error.to_string()),
            false => Self::Internal(error.to_string()),
        }
    }
}
