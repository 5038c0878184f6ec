//! Why a configuration is refused, without what may be a secret.

use figment::error::{Actual, Kind};

use super::load::variable;

/// Sections without secrets, beside all numbers and truth values.
const OPEN: [&str; 2] = ["plugins.", "tiers."];
/// How the message about a file that is no TOML begins.
const NOT_TOML: &str = "TOML parse error";

/// Names each wrong setting, what is wrong and where it was set. `defaults` are all settings.
pub(super) fn explain(error: &figment::Error, defaults: &serde_json::Value) -> anyhow::Error {
    let lines: Vec<String> = error
        .clone()
        .into_iter()
        .map(|error| {
            let path = error.path.join(".");
            let from = match &error.metadata {
                Some(metadata) => match &metadata.source {
                    Some(source) => format!(" (in {source})"),
                    None if metadata.name.contains("environment") => {
                        format!(" (in {})", variable(&path))
                    }
                    None => format!(" ({})", metadata.name),
                },
                None => String::new(),
            };
            let setting = if path.is_empty() {
                String::new()
            } else {
                format!("{path}: ")
            };
            format!("{setting}{}{from}", why(&error.kind, &path, defaults))
        })
        .collect();
    anyhow::anyhow!(
        "{}; `orbweaver config` lists every setting",
        lines.join("\n")
    )
}

/// What is wrong, with the value only where no secret can be.
fn why(kind: &Kind, path: &str, defaults: &serde_json::Value) -> String {
    if may_be_shown(path, defaults) {
        return kind.to_string();
    }
    match kind {
        Kind::InvalidType(found, expected) => {
            format!("invalid type: found {}, expected {expected}", named(found))
        }
        Kind::InvalidValue(found, expected) => {
            format!("invalid value: found {}, expected {expected}", named(found))
        }
        Kind::Unsupported(found) | Kind::UnsupportedKey(found, _) => {
            format!("unsupported type: found {}", named(found))
        }
        Kind::ISizeOutOfRange(_) | Kind::USizeOutOfRange(_) => {
            "the number is out of range".to_owned()
        }
        Kind::Message(message) if message.starts_with(NOT_TOML) => without_excerpt(message),
        kind => kind.to_string(),
    }
}

/// Whether a wrong value of this setting may be shown: it is a number or a truth value, or its section has
/// no secrets.
fn may_be_shown(path: &str, defaults: &serde_json::Value) -> bool {
    let default = path
        .split('.')
        .try_fold(defaults, |value, name| value.get(name));
    default.is_some_and(|value| value.is_number() || value.is_boolean())
        || OPEN.iter().any(|section| path.starts_with(section))
}

/// The kind of a value.
const fn named(found: &Actual) -> &'static str {
    match found {
        Actual::Bool(_) => "true or false",
        Actual::Unsigned(_) | Actual::Signed(_) => "a whole number",
        Actual::Float(_) => "a number",
        Actual::Char(_) | Actual::Str(_) => "text",
        Actual::Bytes(_) => "bytes",
        Actual::Seq => "a list",
        Actual::Map => "a table",
        Actual::Unit | Actual::Option => "nothing",
        _ => "another value",
    }
}

/// The message without the line of the file, ` 3 | key = value`, and the mark below it.
fn without_excerpt(message: &str) -> String {
    let is_excerpt = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        rest.starts_with('|')
    };
    let kept: Vec<&str> = message
        .lines()
        .filter(|line| !is_excerpt(line) && !line.is_empty())
        .collect();
    kept.join(": ")
}
