//! Names of projects.

/// Whether this is a valid project name: 1 to 64 letters, digits, underscores and hyphens.
pub fn is_project_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
