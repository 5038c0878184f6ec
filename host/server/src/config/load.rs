//! Loads the configuration from its sources.

use std::path::Path;

use figment::error::Kind;
use figment::providers::{Format as _, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::explain::explain;
use super::settings::Config;
use super::sources::{Misnamed, Unsetting, Variables, misnamed};

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
    /// Variables that look as if they were to set something, and do not.
    pub misnamed: Vec<Misnamed>,
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
/// Names the invalid setting, where it was set, and the rule; not its value, where that may be a secret.
pub fn load(file: Option<&Path>, flags: Flags) -> anyhow::Result<Loaded> {
    let defaults = &serde_json::to_value(Config::default())?;
    let mut base = Figment::from(Serialized::defaults(Config::default()));
    if let Some(file) = file {
        if !file.is_file() {
            anyhow::bail!("the configuration file {} does not exist", file.display());
        }
        let source = Toml::file_exact(file);
        base = base.merge(Unsetting { source, defaults });
    }
    let mut variables = Variables::read(defaults);
    let mut before: Option<figment::Error> = None;
    loop {
        let source = &variables;
        let figment = base.clone().merge(Unsetting { source, defaults });
        let figment = figment.merge(&flags);
        let error = match figment.extract::<Config>() {
            Ok(config) => {
                config.validate()?;
                return Ok(Loaded {
                    config,
                    misnamed: misnamed(defaults),
                    figment,
                });
            }
            Err(error) => error,
        };
        // The setting expects no text: what is wrong with the value is what was said before.
        if let Some(before) = before.filter(|before| before.path == error.path)
            && matches!(error.kind, Kind::InvalidType(..))
        {
            return Err(explain(&before, defaults));
        }
        if !variables.take_as_text(&error.path.join(".")) {
            return Err(explain(&error, defaults));
        }
        before = Some(error);
    }
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

    fn refused(file: Option<&str>) -> String {
        let loaded = load(file.map(Path::new), Flags::default());
        loaded.expect_err("a wrong setting").to_string()
    }

    #[test]
    fn an_empty_text_unsets_a_setting() {
        Jail::expect_with(|jail| {
            jail.create_file(
                "c.toml",
                "[billing]\nwebhook_secret = \"whsec_1\"\n[cloud.llm]\nkey = \"\"",
            )?;
            for setting in [
                "billing.webhook_secret",
                "signup.challenge_secret",
                "cloud.vendor_key",
                "cloud.brave_key",
                "blob_store.secret_access_key",
                "mail.smtp_url",
                "metrics.listen",
                "browser",
            ] {
                jail.set_env(variable(setting), "");
            }
            let loaded = load(Some(Path::new("c.toml")), Flags::default()).unwrap();
            let config = loaded.config;
            assert_eq!(config.billing.webhook_secret, None);
            assert_eq!(config.signup.challenge_secret, None);
            let cloud = config.cloud;
            assert_eq!((cloud.vendor_key, cloud.brave_key), (None, None));
            assert_eq!(cloud.llm.key, None);
            assert_eq!(config.blob_store.secret_access_key, None);
            assert!(config.mail.smtp_url.is_none());
            assert_eq!((config.metrics.listen, config.browser), (None, None));
            Ok(())
        });
        // Without these, the service would run otherwise than was meant.
        for setting in ["database_url", "blobs", "secret_key", "tls_cert"] {
            Jail::expect_with(|jail| {
                jail.set_env(variable(setting), "");
                assert!(refused(None).starts_with(setting), "{setting}");
                Ok(())
            });
        }
    }

    #[test]
    fn variables_that_set_nothing_and_look_so_are_named() {
        Jail::expect_with(|jail| {
            for (name, value) in [
                ("ORBWEAVER_LISTEN", "127.0.0.1:2"),
                ("ORBWEAVER_CRAWL__RUNS", "3"),
                // Of other programs, as of Kubernetes.
                ("ORBWEAVER_FIXTURES", "elsewhere"),
                ("ORBWEAVER_SERVICE_HOST", "10.0.0.1"),
                ("ORBWEAVER_SERVICE_PORT_HTTP", "8080"),
                ("ORBWEAVER_PORT", "tcp://10.0.0.1:8080"),
                ("ORBWEAVER_PORT_8080_TCP_ADDR", "10.0.0.1"),
                // Of the command line, the clients and the images.
                ("ORBWEAVER_CONFIG", "orbweaver.toml"),
                ("ORBWEAVER_KEY", "orb_1"),
                ("ORBWEAVER_URL", "http://127.0.0.1:8080"),
                ("ORBWEAVER_SERVER", "http://127.0.0.1:8080"),
                ("ORBWEAVER_BINARY", "orbweaver"),
                ("ORBWEAVER_IMAGE", "orbweaver"),
                ("ORBWEAVER_REGISTRY_USER", "me"),
                ("ORBWEAVER_REGISTRY_PASSWORD", "hidden"),
            ] {
                jail.set_env(name, value);
            }
            let misnamed = load(None, Flags::default()).unwrap().misnamed;
            assert!(misnamed.is_empty(), "{misnamed:?}");
            jail.set_env("ORBWEAVER_CRAWLS__RUNS", "3");
            jail.set_env("ORBWEAVER_SECRETKEY", "hidden");
            jail.set_env("ORBWEAVER_LISEN", "127.0.0.1:3");
            jail.set_env("ORBWEAVER_CRAWL_MAX_WAIT_MS", "3");
            jail.set_env("ORBWEAVER_TEIRS__GOLD__PAGES_PER_DAY", "3");
            jail.set_env("ORBWEAVER_QUEUE__LENGTH", "3");
            let misnamed = load(None, Flags::default()).unwrap().misnamed;
            let mut misnamed: Vec<(String, Option<String>)> = misnamed
                .into_iter()
                .map(|it| (it.variable, it.nearest))
                .collect();
            misnamed.sort();
            let expected = [
                ("ORBWEAVER_CRAWLS__RUNS", "ORBWEAVER_CRAWL__RUNS"),
                (
                    "ORBWEAVER_CRAWL_MAX_WAIT_MS",
                    "ORBWEAVER_CRAWL__MAX_WAIT_MS",
                ),
                ("ORBWEAVER_LISEN", "ORBWEAVER_LISTEN"),
                ("ORBWEAVER_QUEUE__LENGTH", ""),
                ("ORBWEAVER_SECRETKEY", "ORBWEAVER_SECRET_KEY"),
                (
                    "ORBWEAVER_TEIRS__GOLD__PAGES_PER_DAY",
                    "ORBWEAVER_TIERS__GOLD__PAGES_PER_DAY",
                ),
            ]
            .map(|(name, nearest)| {
                let nearest = (!nearest.is_empty()).then(|| nearest.to_owned());
                (name.to_owned(), nearest)
            });
            assert_eq!(misnamed, expected);
            Ok(())
        });
    }

    #[test]
    fn a_variable_is_taken_as_text_where_text_is_expected() {
        Jail::expect_with(|jail| {
            for text in [
                "0123", "12345678", "1.50", "-1", "true", "[a]", "{a=b}", "{a", "a,b",
            ] {
                jail.set_env("ORBWEAVER_SIGNUP__CHALLENGE_SECRET", text);
                let config = load(None, Flags::default()).unwrap().config;
                let secret = config.signup.challenge_secret.unwrap();
                assert_eq!(secret.expose(), text);
            }
            let pools = "[http://u-{country}:hidden@p.example:1, socks5://q.example:2]";
            jail.set_env("ORBWEAVER_FETCH__PROXY_POOLS__RESIDENTIAL", pools);
            jail.set_env(
                "ORBWEAVER_FETCH__PROXY_POOLS__ISP",
                "http://u:p@p.example:3",
            );
            jail.set_env("ORBWEAVER_SCAN__EXTRACTORS", "123");
            jail.set_env("ORBWEAVER_HTTP__RATE__KEY", "{per_second = 1, burst = 2}");
            jail.set_env("ORBWEAVER_HTTP__RATE__KEY__BURST", "3");
            let config = load(None, Flags::default()).unwrap().config;
            let pools = serde_json::to_value(&config.fetch.proxy_pools).unwrap();
            let shown = serde_json::json!({
                "isp": ["http://***@p.example:3"],
                "residential": ["http://***@p.example:1", "socks5://q.example:2"],
            });
            assert_eq!(pools, shown);
            assert_eq!(config.scan.extractors, ["123"]);
            let rate = config.http.rate.key;
            assert_eq!((rate.per_second, rate.burst), (1, 3));
            Ok(())
        });
    }

    #[test]
    fn errors_show_no_value_that_may_be_a_secret() {
        Jail::expect_with(|jail| {
            for text in [
                "[fetch]\nproxy_pools = \"http://u:hidden@p:1\"",
                "[fetch.proxy_pools]\nresidential = \"u:hidden@p:1\"",
                "[fetch.proxy_pools]\nresidential = [\"http://u:hidden@p/x\"]",
                "[fetch.proxy_pools]\nresidential = { a = \"http://u:hidden@p:1\" }",
                "[cloud]\nllm = \"hidden\"",
                "[cloud]\nvendor_key = hidden",
                "[billing]\nprices = \"hidden\"",
                "database = \"postgres://u:hidden@h/d\"",
            ] {
                jail.create_file("c.toml", text)?;
                let error = refused(Some("c.toml"));
                assert!(!error.contains("hidden"), "{error}");
                assert!(error.contains("c.toml"), "{error}");
            }
            jail.create_file("c.toml", "[cloud]\nvendor_key = 12345678")?;
            let error = refused(Some("c.toml"));
            let why = "cloud.vendor_key: invalid type: found a whole number, expected a string";
            assert!(error.starts_with(why), "{error}");
            // What cannot be a secret helps.
            jail.create_file("c.toml", "[http]\nshutdown_ms = \"soon\"")?;
            let error = refused(Some("c.toml"));
            let why = "http.shutdown_ms: invalid type: found string \"soon\", expected u64";
            assert!(error.starts_with(why), "{error}");
            jail.set_env("ORBWEAVER_HTTP__SHUTDOWN_MS", "-1");
            let error = refused(None);
            assert!(error.contains("`-1`") && error.contains("u64"), "{error}");
            jail.set_env("ORBWEAVER_HTTP__SHUTDOWN_MS", "1");
            jail.set_env("ORBWEAVER_CLOUD__LLM", "hidden");
            let error = refused(None);
            let why = "cloud.llm: invalid type: found text, expected";
            assert!(error.starts_with(why), "{error}");
            assert!(!error.contains("hidden"), "{error}");
            Ok(())
        });
    }

    #[test]
    fn settings_that_never_work_with_0_are_refused() {
        for setting in [
            "crawl.runs",
            "jobs.concurrent",
            "jobs.queue_per_project",
            "fetch.limits.total_ms",
            "http.max_body_bytes",
            "rendering.launch_ms",
            "cloud.llm.max_tokens",
        ] {
            Jail::expect_with(|jail| {
                jail.set_env(variable(setting), "0");
                let why = format!("{setting}: must be at least 1");
                assert_eq!(refused(None), why);
                Ok(())
            });
        }
    }

    #[test]
    fn a_tier_without_a_value_is_refused_with_its_name() {
        Jail::expect_with(|jail| {
            jail.create_file("c.toml", "[tiers.gold]\npages_per_day = 5\n")?;
            let why = refused(Some("c.toml"));
            assert!(why.contains("missing field `pages_per_month`"), "{why}");
            jail.create_file("c.toml", "[tiers.pro]\npages_per_day = \"lots\"\n")?;
            let why = refused(Some("c.toml"));
            assert!(why.contains("whole number or \"unlimited\""), "{why}");
            jail.create_file("c.toml", "[fetch]\nuser_agents = [\"a\\nb\"]\n")?;
            let why = refused(Some("c.toml"));
            assert!(why.starts_with("fetch.user_agents: must be"), "{why}");
            Ok(())
        });
    }

    #[test]
    fn settings_that_no_start_survives_are_refused() {
        for (setting, most) in [
            ("fetch.limits.idle_ms", 86_400_000_u64),
            ("plugins.extractor_threads", 1_024),
            ("plugins.max_actors", 65_536),
            ("plugins.max_instances", 16_384),
            ("database.writer_queue", 1 << 24),
            ("rendering.concurrent", 1_024),
        ] {
            Jail::expect_with(|jail| {
                jail.set_env(variable(setting), (most + 1).to_string());
                assert_eq!(refused(None), format!("{setting}: must be at most {most}"));
                Ok(())
            });
        }
    }
}
