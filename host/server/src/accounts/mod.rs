//! Projects and their keys, what they may use and used, and how strangers get one.

pub mod auth;
pub mod billing;
pub mod bootstrap;
pub mod issue;
pub mod key;
pub mod mail;
pub mod quota;
pub mod registry;
pub mod seal;
pub mod signup;
pub mod usage;

/// How this service introduces itself to the services that it works with.
const AGENT: &str = concat!("Orbweaver/", env!("CARGO_PKG_VERSION"));

/// Whether a project may have this name: letters, digits, underscore and hyphen, 1 to 64.
pub fn is_project_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// An `application/x-www-form-urlencoded` body.
fn form(fields: &[(&str, &str)]) -> bytes::Bytes {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    form.finish().into_bytes().into()
}
