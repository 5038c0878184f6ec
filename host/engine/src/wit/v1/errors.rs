//! Conversion between errors of the WIT package and of the engine.

use super::bindings::extractor::orbweaver::plugin::types::Error as WitError;
use crate::error::{CodedError, ErrorCode, MAX_FIELD_BYTES, PluginError};
use crate::meter::Meter;
use crate::text::{MAX_MESSAGE_BYTES, clean};

/// The error of a host function as the guest gets it. One for want of a permission is counted.
pub(super) fn told(meter: &Meter, error: CodedError) -> WitError {
    if error.code == ErrorCode::NotGranted {
        meter.deny();
    }
    error.into()
}

impl From<CodedError> for WitError {
    fn from(error: CodedError) -> Self {
        Self {
            code: error.code.as_str().to_owned(),
            message: error.message,
            field: error.field,
            retry_after_ms: error.retry_after_ms,
        }
    }
}

impl From<WitError> for PluginError {
    fn from(error: WitError) -> Self {
        Self::Reported(CodedError {
            code: ErrorCode::of(&error.code),
            message: clean(&error.message, MAX_MESSAGE_BYTES),
            field: error.field.map(|field| clean(&field, MAX_FIELD_BYTES)),
            retry_after_ms: error.retry_after_ms,
        })
    }
}
