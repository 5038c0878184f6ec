//! Conversion between errors of the WIT package and of the engine.

use super::bindings::extractor::orbweaver::plugin::types::Error as WitError;
use crate::error::{HostError, PluginError};
use crate::text::{MAX_MESSAGE_BYTES, clean};

impl From<HostError> for WitError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::InvalidInput(text) => Self::InvalidInput(text),
            HostError::FetchFailed(text) => Self::FetchFailed(text),
            HostError::Denied(text) => Self::Denied(text),
            HostError::Failed(text) => Self::Failed(text),
        }
    }
}

impl From<WitError> for PluginError {
    fn from(error: WitError) -> Self {
        let clean = |text: String| clean(&text, MAX_MESSAGE_BYTES);
        match error {
            WitError::InvalidInput(text) => Self::InvalidInput(clean(text)),
            WitError::FetchFailed(text) => Self::FetchFailed(clean(text)),
            WitError::Denied(text) => Self::Denied(clean(text)),
            WitError::Failed(text) => Self::Failed(clean(text)),
        }
    }
}
