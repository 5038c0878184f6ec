//! What every setting means, printed as a configuration file.

use std::fmt::Write as _;

use serde_json::Value;

use super::load::variable;
use super::{Config, Loaded};

/// A setting, or a table of settings that is described as a whole.
struct Setting {
    path: &'static str,
    flag: Option<&'static str>,
    help: &'static str,
}

const fn setting(path: &'static str, help: &'static str) -> Setting {
    Setting {
        path,
        flag: None,
        help,
    }
}

const fn flagged(path: &'static str, flag: &'static str, help: &'static str) -> Setting {
    Setting {
        path,
        flag: Some(flag),
        help,
    }
}

const SETTINGS: &[Setting] = &[
    flagged(
        "listen",
        "--listen",
        "Address and port that the API listens on.",
    ),
    flagged(
        "data_dir",
        "--data-dir",
        "Folder for the SQLite file and compiled plugins. Only this user may write there: compiled plugins are run as machine code.",
    ),
    flagged(
        "database_url",
        "--database-url",
        "postgres://USER:PASSWORD@HOST/DATABASE for several nodes; unset, a SQLite file in the data folder.",
    ),
    flagged(
        "plugin_dir",
        "--plugin-dir",
        "Folder of plugins, watched: a file that appears, changes or goes is taken over while running. Unset, `plugins` beside the binary's folder.",
    ),
    flagged(
        "allow_nets",
        "--allow-net",
        "Networks that may be fetched from besides the public internet, such as 10.0.0.0/8.",
    ),
    setting(
        "bootstrap_key",
        "The first key, used on the first start on an empty database: orb_ and 24 random bytes in base64url. Unset, a fresh key is printed once.",
    ),
    flagged(
        "browser",
        "--browser",
        "Browser for rendering. Unset, the first on PATH of chromium-headless-shell, chromium, chromium-browser, google-chrome.",
    ),
    flagged(
        "tls_cert",
        "--tls-cert",
        "Certificate chain (PEM), to serve HTTPS directly. Unset, a proxy in front terminates TLS.",
    ),
    flagged(
        "tls_key",
        "--tls-key",
        "Private key (PEM) of the certificate.",
    ),
    flagged(
        "roles",
        "--roles",
        "What this process does: api, worker, scheduler.",
    ),
    setting(
        "trusted_proxies",
        "Networks of proxies in front whose X-Forwarded-For is believed.",
    ),
    setting(
        "http.max_body_bytes",
        "Largest request body, in bytes; a larger one is answered 413.",
    ),
    setting(
        "http.header_timeout_ms",
        "Time for a client to send a request's head, in milliseconds.",
    ),
    setting(
        "http.body_timeout_ms",
        "Time for a client to send a request's body, in milliseconds.",
    ),
    setting(
        "http.request_timeout_ms",
        "Longest time to an answer, in milliseconds; then 408.",
    ),
    setting(
        "http.shutdown_ms",
        "On SIGTERM, time for running requests to finish, in milliseconds (at most 9500).",
    ),
    setting(
        "database.connections",
        "Connections kept: for reading (SQLite), in all (PostgreSQL).",
    ),
    setting(
        "database.acquire_timeout_ms",
        "Longest wait for a free connection, in milliseconds.",
    ),
    setting(
        "database.writer_queue",
        "Writes that wait for the writer before callers wait too.",
    ),
    setting(
        "scan.extractors",
        "Extractors that run for every scanned page besides those of the contract; their output is under `extensions`.",
    ),
    setting(
        "scan.result_cache_mib",
        "Memory for extracted results of stored pages, in MiB; 0 keeps none.",
    ),
    setting(
        "scan.concurrent",
        "Scans at once in this process; more wait.",
    ),
    setting(
        "log.format",
        "pretty (for people) or json (one object a line). Logs go to standard error.",
    ),
    setting(
        "log.filter",
        "Least level logged, and exceptions: `info`, `warn,orbweaver_server=debug` …",
    ),
    setting(
        "metrics.listen",
        "Address and port of Prometheus metrics (GET /metrics). Unset, none.",
    ),
    setting(
        "metrics.public",
        "Whether /metrics is on the API's port, too.",
    ),
    setting(
        "retention.scans_days",
        "Days that scanned pages are kept for `max_age_seconds`.",
    ),
    setting(
        "retention.request_log_days",
        "Days that GET /v1/logs goes back.",
    ),
];

/// The effective configuration as a TOML file, each setting with its meaning, flag,
/// variable, default and source. Secrets show as `***`.
pub fn reference(loaded: &Loaded) -> anyhow::Result<String> {
    let defaults = serde_json::to_value(Config::default())?;
    let values = serde_json::to_value(&loaded.config)?;
    let mut out = String::from(
        "# Orbweaver's configuration as it is in effect.\n\
         # Sources, later ones win: defaults, --config FILE (this format), environment, flags.\n",
    );
    let mut table = "";
    for setting in SETTINGS {
        let (section, name) = setting.path.rsplit_once('.').unwrap_or(("", setting.path));
        if section != table {
            let _ = write!(out, "\n[{section}]\n");
            table = section;
        }
        let default = lookup(&defaults, setting.path);
        let value = lookup(&values, setting.path);
        out.push('\n');
        for line in wrap(setting.help) {
            let _ = writeln!(out, "# {line}");
        }
        let _ = write!(out, "# {}", variable(setting.path));
        if let Some(flag) = setting.flag {
            let _ = write!(out, ", {flag}");
        }
        let _ = writeln!(
            out,
            "; default: {}; from: {}",
            show(default),
            loaded.source(setting.path)
        );
        match value {
            Value::Null => {
                let _ = writeln!(out, "# {name} =");
            }
            value => {
                let _ = writeln!(out, "{name} = {}", show(value));
            }
        }
    }
    Ok(out)
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

/// Bare where TOML allows it.
fn quoted(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { format!("{key:?}") }
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
    use super::*;
    use crate::config::{Flags, Secret, load};

    #[test]
    fn every_setting_is_described_once_and_nothing_else_is() {
        let defaults = serde_json::to_value(Config::default()).unwrap();
        let mut open: Vec<(String, &Value)> = vec![(String::new(), &defaults)];
        let mut described = 0;
        while let Some((path, value)) = open.pop() {
            let entries = SETTINGS
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
        assert_eq!(described, SETTINGS.len(), "a description names no setting");
    }

    #[test]
    fn the_reference_is_a_configuration_file_without_secrets() {
        let mut loaded = load(None, Flags::default()).unwrap();
        loaded.config.bootstrap_key = Some(Secret::new("orb_hidden"));
        loaded.config.database_url = Some(crate::config::SafeUrl::new("postgres://u:hidden@h/d"));
        let text = reference(&loaded).unwrap();
        assert!(!text.contains("hidden"), "{text}");
        assert!(text.contains("ORBWEAVER_HTTP__SHUTDOWN_MS; default: 8000; from: default"));
        let parsed: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(parsed["listen"].as_str(), Some("127.0.0.1:8080"));
    }
}
