//! Loads the configuration from its sources.

use std::path::Path;

use figment::providers::{Env, Format as _, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::settings::Config;

/// Settings from the command line: top-level name and value.
#[derive(Clone, Debug, Default)]
pub struct Flags(Vec<(&'static str, serde_json::Value)>);

impl Flags {
    /// Adds a setting, if it was given.
    pub fn set<T: serde::Serialize>(&mut self, setting: &'static str, value: Option<T>) {
        if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
            self.0.push((setting, value));
        }
    }
}

impl Provider for Flags {
    fn metadata(&self) -> Metadata {
        Metadata::named("flag")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut dict = Dict::new();
        for (setting, value) in &self.0 {
            dict.insert((*setting).to_owned(), Value::serialize(value)?);
        }
        Ok(Profile::Default.collect(dict))
    }
}

/// A configuration with the sources of its values.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The validated configuration.
    pub config: Config,
    figment: Figment,
}

impl Loaded {
    /// The source of a setting's value: `default`, the file, the variable or `flag`.
    pub fn source(&self, path: &str) -> String {
        let Some(metadata) = self.figment.find_metadata(path) else {
            return "default".to_owned();
        };
        match &metadata.source {
            Some(figment::Source::File(file)) => file.display().to_string(),
            _ if metadata.name.contains("environment") => variable(path),
            _ if metadata.name == "flag" => "flag".to_owned(),
            _ => "default".to_owned(),
        }
    }
}

/// The environment variable of a setting.
pub fn variable(path: &str) -> String {
    format!("ORBWEAVER_{}", path.replace('.', "__").to_ascii_uppercase())
}

/// Loads and validates the configuration.
///
/// # Errors
/// Names the invalid setting, where it was set, and the rule.
pub fn load(file: Option<&Path>, flags: Flags) -> anyhow::Result<Loaded> {
    let mut figment = Figment::from(Serialized::defaults(Config::default()));
    if let Some(file) = file {
        if !file.is_file() {
            anyhow::bail!("the configuration file {} does not exist", file.display());
        }
        figment = figment.merge(Toml::file_exact(file));
    }
    // Unknown variables may belong to other programs (ORBWEAVER_FIXTURES …) and are ignored; an
    // unknown key in the configuration file is an error.
    let known = serde_json::to_value(Config::default())?;
    let env = Env::prefixed("ORBWEAVER_")
        .filter(move |name| {
            let name = name.as_str().to_ascii_lowercase();
            let first = name.split("__").next().unwrap_or_default();
            known.get(first).is_some()
        })
        .split("__");
    let figment = figment.merge(env).merge(flags);
    let config: Config = figment.extract().map_err(|error| explain(&error))?;
    config.validate()?;
    Ok(Loaded { config, figment })
}

fn explain(error: &figment::Error) -> anyhow::Error {
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
            format!("{setting}{}{from}", error.kind)
        })
        .collect();
    anyhow::anyhow!(
        "{}; `orbweaver config` lists every setting",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::result_large_err,
        reason = "figment's Jail prescribes its error"
    )]

    use figment::Jail;
    use ipnet::IpNet;
    use orbweaver_core::setting::Millis;

    use super::*;

    #[test]
    fn later_sources_win_and_are_reported() {
        Jail::expect_with(|jail| {
            jail.create_file(
                "c.toml",
                "listen = \"127.0.0.1:1\"\nroles = [\"api\"]\n[log]\nformat = \"json\"",
            )?;
            jail.set_env("ORBWEAVER_LISTEN", "127.0.0.1:2");
            jail.set_env("ORBWEAVER_ALLOW_NETS", "10.0.0.0/8, ::1");
            jail.set_env("ORBWEAVER_HTTP__SHUTDOWN_MS", "100");
            jail.set_env("ORBWEAVER_FIXTURES", "elsewhere");
            let mut flags = Flags::default();
            flags.set("data_dir", Some("/flag"));
            let loaded = load(Some(Path::new("c.toml")), flags).unwrap();
            assert_eq!(loaded.config.listen.port(), 2);
            let nets = ["10.0.0.0/8", "::1/128"].map(|net| net.parse::<IpNet>().unwrap());
            assert_eq!(loaded.config.allow_nets, nets);
            assert_eq!(loaded.config.http.shutdown_ms, Millis(100));
            assert_eq!(loaded.config.data_dir, Path::new("/flag"));
            assert_eq!(loaded.source("listen"), "ORBWEAVER_LISTEN");
            assert!(loaded.source("roles").ends_with("c.toml"));
            assert!(loaded.source("log.format").ends_with("c.toml"));
            assert_eq!(loaded.source("data_dir"), "flag");
            assert_eq!(loaded.source("http.max_body_bytes"), "default");
            Ok(())
        });
    }

    #[test]
    fn a_wrong_setting_is_reported_with_its_source() {
        Jail::expect_with(|jail| {
            jail.create_file("c.toml", "lisen = \"127.0.0.1:1\"")?;
            let error = load(Some(Path::new("c.toml")), Flags::default())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("lisen") && error.contains("c.toml"),
                "{error}"
            );

            jail.set_env("ORBWEAVER_ROLES", "api,cook");
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(
                error.contains("roles") && error.contains("`cook`"),
                "{error}"
            );

            jail.set_env("ORBWEAVER_ROLES", "api");
            jail.set_env("ORBWEAVER_ALLOW_NETS", "10.0.0.0/33");
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(
                error.starts_with(
                    "allow_nets: `10.0.0.0/33` is not a network such as 10.0.0.0/8 or fd00::/8 \
                     (in ORBWEAVER_ALLOW_NETS)"
                ),
                "{error}"
            );

            jail.set_env("ORBWEAVER_ALLOW_NETS", "10.0.0.0/8");
            jail.set_env("ORBWEAVER_PUBLIC_URL", "ftp://files.example/");
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(
                error.contains("public_url: must be an http or https URL"),
                "{error}"
            );

            jail.set_env("ORBWEAVER_PUBLIC_URL", "https://crawl.example/");
            jail.set_env("ORBWEAVER_DATABASE_URL", "//u:hidden@h/d");
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(
                error.contains("database_url: must be a URL") && !error.contains("hidden"),
                "{error}"
            );

            jail.set_env("ORBWEAVER_DATABASE_URL", "sqlite:here.db");
            let direct = "postgres://u:hidden@db.example/orb";
            jail.set_env("ORBWEAVER_DATABASE__DIRECT_URL", direct);
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(
                error.contains("database.direct_url: must be postgres")
                    && !error.contains("hidden"),
                "{error}"
            );
            jail.set_env(
                "ORBWEAVER_DATABASE_URL",
                "postgres://u:hidden@pooler.example/orb",
            );
            load(None, Flags::default()).expect("both are PostgreSQL");
            let replicas = "postgres://u:hidden@one.example/orb, sqlite:here.db";
            jail.set_env("ORBWEAVER_DATABASE__REPLICA_URLS", replicas);
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(
                error.contains("database.replica_urls: must be postgres")
                    && !error.contains("hidden"),
                "{error}"
            );
            let replicas = "postgres://u:hidden@one.example/orb, postgres://two.example/orb";
            jail.set_env("ORBWEAVER_DATABASE__REPLICA_URLS", replicas);
            let loaded = load(None, Flags::default()).expect("all are PostgreSQL");
            assert_eq!(loaded.config.database.replica_urls.len(), 2);

            jail.set_env("ORBWEAVER_LISTEN", "nowhere");
            let error = load(None, Flags::default()).unwrap_err().to_string();
            assert!(error.contains("ORBWEAVER_LISTEN"), "{error}");
            Ok(())
        });
    }
}
