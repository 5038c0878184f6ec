//! Projects and their keys.

pub mod auth;
pub mod bootstrap;
pub mod key;
pub mod quota;
pub mod registry;

/// The tiers that a project may be on.
pub const TIERS: [&str; 5] = ["free", "pro", "agency", "studio", "self_hosted"];

/// Whether a project may have this name: letters, digits, underscore and hyphen, 1 to 64.
pub fn is_project_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
