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
        let code = ErrorCode::of(&error.code);
        let field = error.field.map(|field| clean(&field, MAX_FIELD_BYTES));
        let message = match error.message.trim().is_empty() {
            true => unsaid(code, field.as_deref()),
            false => clean(&error.message, MAX_MESSAGE_BYTES),
        };
        Self::Reported(CodedError {
            code,
            message,
            field,
            retry_after_ms: error.retry_after_ms,
        })
    }
}

/// The message of an error for which the plugin has none.
fn unsaid(code: ErrorCode, field: Option<&str>) -> String {
    let why = format!("the plugin gives the error `{code}` and no message");
    match field.filter(|field| !field.is_empty()) {
        Some(field) => format!("{field}: {why}"),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_message_says_what_is_known() {
        let said = |code: &str, message: &str, field: Option<&str>| {
            let error = WitError {
                code: code.to_owned(),
                message: message.to_owned(),
                field: field.map(str::to_owned),
                retry_after_ms: None,
            };
            PluginError::from(error).to_string()
        };
        let unsaid = "the plugin gives the error `dns` and no message";
        assert_eq!(said("dns", "", None), unsaid);
        assert_eq!(said("dns", " \n", Some("")), unsaid);
        assert_eq!(
            said("invalid-input", "", Some("url")),
            "url: the plugin gives the error `invalid-input` and no message"
        );
        assert_eq!(said("failed", "no luck", None), "no luck");
    }
}
