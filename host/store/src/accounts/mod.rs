//! Projects, their keys and secrets, and signup.

pub(crate) mod keys;
pub(crate) mod projects;
mod secrets;
pub(crate) mod signup;

pub use keys::{ApiKey, KeyEvent, KeyHash, KeyState, MAX_ACTIVE_KEYS, NewKey, Principal, Revoked};
pub use projects::{CloudMode, NewProject, Project, ProjectChange};
pub use signup::{Attempt, Intent, NewSignup, SignedUp, SignupLimits};
