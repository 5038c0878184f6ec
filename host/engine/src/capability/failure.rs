//! Failures of a capability's call.

use crate::error::{HostError, StopReason};

/// How a capability's call failed.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The guest is told and goes on.
    Refused(HostError),
    /// The guest is stopped.
    Stopped(StopReason),
}

impl From<HostError> for CallFailure {
    fn from(error: HostError) -> Self {
        Self::Refused(error)
    }
}

impl From<StopReason> for CallFailure {
    fn from(reason: StopReason) -> Self {
        Self::Stopped(reason)
    }
}

/// The refusal of a capability that the plugin was not granted.
pub(super) fn not_granted(permission: &str) -> HostError {
    HostError::Denied(format!("permission {permission} is not granted"))
}

/// The refusal of a capability that this host does not have.
pub(super) fn not_offered(what: &str) -> HostError {
    HostError::Denied(format!("this host offers no {what}"))
}
