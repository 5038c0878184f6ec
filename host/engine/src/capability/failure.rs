//! Failures of capabilities.

use crate::error::{CodedError, ErrorCode, StopReason};
use crate::grants::{EffectivePermissions, Need};

/// How the use of a capability failed.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The guest gets the error and continues.
    Refused(CodedError),
    /// The guest is stopped.
    Stopped(StopReason),
}

impl From<CodedError> for CallFailure {
    fn from(error: CodedError) -> Self {
        Self::Refused(error)
    }
}

impl From<StopReason> for CallFailure {
    fn from(reason: StopReason) -> Self {
        Self::Stopped(reason)
    }
}

/// The error for a capability that is not granted to the plugin.
pub(super) fn not_granted(grants: &EffectivePermissions, need: Need<'_>) -> CodedError {
    let (permission, remedy) = (need.grant(), grants.remedy(need));
    CodedError::new(
        ErrorCode::NotGranted,
        format!("permission {permission}: {remedy}"),
    )
}

/// The error for a capability that this host does not have.
pub(super) fn not_offered(what: &str) -> CodedError {
    CodedError::new(ErrorCode::NotConfigured, format!("this host has no {what}"))
}
