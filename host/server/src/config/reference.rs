//! Prints every setting with its help, as a configuration file.

use std::fmt::Write as _;

use orbweaver_core::redact::MASK;
use orbweaver_core::setting::{SettingInfo, Settings as _};
use serde_json::Value;

use super::load::{Loaded, variable};
use super::settings::Config;

/// The current configuration as a TOML file; each setting with its help, flag, variable, default
/// and source. Settings with secrets are commented out, the secrets shown as `***`.
pub fn reference(loaded: &Loaded) -> anyhow::Result<String> {
    let defaults = serde_json::to_value(Config::default())?;
    let values = serde_json::to_value(&loaded.config)?;
    let mut out = String::from(
        "# Orbweaver's configuration as currently in effect.\n\
         # Sources, later ones win: defaults, --config FILE (this format), environment, flags.\n",
    );
    let settings = all_settings();
    let mut table = "";
    for setting in &settings {
        let path = setting.path.as_str();
        let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
        if section != table {
            let _ = write!(out, "\n[{section}]\n");
            table = section;
        }
        let default = lookup(&defaults, path);
        let value = lookup(&values, path);
        out.push('\n');
        for line in wrap(&setting.help) {
            let _ = writeln!(out, "# {line}");
        }
        let _ = write!(out, "# {}", variable(path));
        if let Some(flag) = setting.flag {
            let _ = write!(out, ", {flag}");
        }
        let _ = writeln!(
            out,
            "; default: {}; from: {}",
            show(default),
            loaded.source(path)
        );
        match value {
            Value::Null => {
                let _ = writeln!(out, "# {name} =");
            }
            value => {
                let shown = show(value);
                let _ = match shown.contains(MASK) {
                    true => writeln!(
                        out,
                        "# {name} = {shown} (a secret is not shown; set it here)"
                    ),
                    false => writeln!(out, "{name} = {shown}"),
                };
            }
        }
    }
    Ok(out)
}

/// Every setting, in the order of the configuration file.
fn all_settings() -> Vec<SettingInfo> {
    let mut all = Vec::new();
    Config::describe("", &mut all);
    all
}

fn lookup<'v>(root: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .try_fold(root, |value, key| value.get(key))
        .unwrap_or(&Value::Null)
}

/// A JSON value in TOML's notation, on one line.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Object(map) => {
            let fields: Vec<String> = map
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| format!("{} = {}", quoted(key), show(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(show).collect::<Vec<_>>().join(", ")
            )
        }
        scalar => scalar.to_string(),
    }
}

/// Quotes a key where TOML requires it.
fn quoted(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = lines
            .last()
            .is_some_and(|line| line.len() + word.len() < 92);
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if fits => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::result_large_err,
        reason = "figment's Jail prescribes its error"
    )]

    use super::*;
    use orbweaver_accounts::secret::Secret;

    use super::super::load::{Flags, load};

    #[test]
    fn exactly_the_existing_settings_are_described_once() {
        let settings = all_settings();
        let defaults = serde_json::to_value(Config::default()).unwrap();
        let mut open: Vec<(String, &Value)> = vec![(String::new(), &defaults)];
        let mut described = 0;
        while let Some((path, value)) = open.pop() {
            let entries = settings
                .iter()
                .filter(|setting| setting.path == path)
                .count();
            assert!(entries <= 1, "{path} is described {entries} times");
            described += entries;
            match value {
                _ if entries == 1 => {}
                Value::Object(map) => open.extend(map.iter().map(|(key, value)| {
                    (
                        if path.is_empty() {
                            key.clone()
                        } else {
                            format!("{path}.{key}")
                        },
                        value,
                    )
                })),
                _ => panic!("{path} is not described"),
            }
        }
        assert_eq!(described, settings.len(), "a description names no setting");
    }

    #[test]
    fn the_reference_is_a_configuration_file_without_secrets() {
        // In the jail, because other tests set environment variables of the process.
        figment::Jail::expect_with(|_| {
            let mut loaded = load(None, Flags::default()).unwrap();
            loaded.config.bootstrap_key = Some(Secret::new("orb_hidden"));
            loaded.config.database_url = Some(orbweaver_accounts::secret::SafeUrl::new(
                "postgres://u:hidden@h/d",
            ));
            let text = reference(&loaded).unwrap();
            assert!(!text.contains("hidden"), "{text}");
            assert!(text.contains("ORBWEAVER_HTTP__SHUTDOWN_MS; default: 8000; from: default"));
            let parsed: toml::Table = toml::from_str(&text).unwrap();
            assert_eq!(parsed["listen"].as_str(), Some("127.0.0.1:8080"));
            Ok(())
        });
    }
}
