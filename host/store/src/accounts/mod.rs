//! Projects, their keys and secrets, and signup.

pub(crate) mod key_events;
pub(crate) mod keys;
pub(crate) mod projects;
mod secrets;
pub(crate) mod signup;

pub use key_events::KeyEvent;
pub use keys::{
    ApiKey, KeyHash, KeyState, MAX_ACTIVE_KEYS, MAX_ENDED_KEYS, NewKey, Principal, Revoked,
};
pub use projects::{CloudMode, NewProject, Project, ProjectChange};
pub use signup::{Attempt, Intent, NewSignup, SignedUp, SignupLimits};
