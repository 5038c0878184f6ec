//! Names of projects.

/// Whether a project may have this name: letters, digits, underscore and hyphen, 1 to 64.
pub fn is_project_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
