//! The configuration: one typed struct, filled from defaults, then a TOML file, then
//! `ORBWEAVER_…` variables, then flags; later sources win.

mod account;
mod cloud;
mod crawl;
mod load;
mod reference;
mod secret;
mod settings;
mod tiers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use orbweaver_engine::EngineConfig;
use orbweaver_fetch::{BrowserConfig, FetchConfig};
use serde::{Deserialize, Deserializer, Serialize};

pub use account::{BillingConfig, MailConfig, SignupConfig};
pub use cloud::{CloudConfig, Prices};
pub use crawl::CrawlConfig;
pub use load::{Flags, Loaded, load};
pub use reference::reference;
pub use secret::{SafeUrl, Secret, redact_url};
pub use tiers::{Cap, TierConfig};

/// Every setting. What each means is in [`reference`], which `orbweaver config` prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the reference that users read describes every field, and a test holds it complete"
)]
pub struct Config {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub database_url: Option<SafeUrl>,
    pub plugin_dir: Option<PathBuf>,
    #[serde(deserialize_with = "list")]
    pub allow_nets: Vec<String>,
    pub bootstrap_key: Option<Secret>,
    pub secret_key: Option<Secret>,
    pub public_url: Option<String>,
    pub browser: Option<PathBuf>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    #[serde(deserialize_with = "list")]
    pub roles: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub trusted_proxies: Vec<String>,
    pub http: HttpConfig,
    pub fetch: FetchConfig,
    pub plugins: EngineConfig,
    pub database: DatabaseConfig,
    pub scan: ScanConfig,
    pub crawl: CrawlConfig,
    pub log: LogConfig,
    pub metrics: MetricsConfig,
    pub retention: RetentionConfig,
    pub blocklist: BlocklistConfig,
    pub webhooks: WebhooksConfig,
    pub tiers: BTreeMap<String, TierConfig>,
    pub rendering: BrowserConfig,
    pub cloud: CloudConfig,
    pub signup: SignupConfig,
    pub billing: BillingConfig,
    pub mail: MailConfig,
}

/// `[http]`: this server's own HTTP.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct HttpConfig {
    pub max_body_bytes: usize,
    pub header_timeout_ms: u64,
    pub body_timeout_ms: u64,
    pub request_timeout_ms: u64,
    pub shutdown_ms: u64,
}

/// `[database]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct DatabaseConfig {
    pub connections: u32,
    pub acquire_timeout_ms: u64,
    pub writer_queue: usize,
}

/// `[scan]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct ScanConfig {
    #[serde(deserialize_with = "list")]
    pub extractors: Vec<String>,
    pub result_cache_mib: u64,
    pub concurrent: usize,
}

/// `[log]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct LogConfig {
    pub format: LogFormat,
    pub filter: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

/// `[metrics]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct MetricsConfig {
    pub listen: Option<SocketAddr>,
    pub public: bool,
}

/// `[retention]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct RetentionConfig {
    pub scans_days: u32,
    pub request_log_days: u32,
    pub runs_days: u32,
    pub project_mib: u64,
}

/// `[blocklist]`: malicious domains.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct BlocklistConfig {
    #[serde(deserialize_with = "list")]
    pub sources: Vec<String>,
    pub refresh_seconds: u64,
}

/// `[webhooks]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct WebhooksConfig {
    #[serde(deserialize_with = "numbers")]
    pub retry_delays: Vec<u32>,
    pub max_retry_after: u32,
    pub timeout_ms: u64,
    pub concurrent: usize,
    pub concurrent_per_target: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            data_dir: PathBuf::from("./data"),
            database_url: None,
            plugin_dir: None,
            allow_nets: Vec::new(),
            bootstrap_key: None,
            secret_key: None,
            public_url: None,
            browser: None,
            tls_cert: None,
            tls_key: None,
            roles: Role::ALL
                .iter()
                .map(|role| role.as_str().to_owned())
                .collect(),
            trusted_proxies: Vec::new(),
            http: HttpConfig {
                max_body_bytes: 16 << 20,
                header_timeout_ms: 30_000,
                body_timeout_ms: 60_000,
                request_timeout_ms: 300_000,
                shutdown_ms: 8_000,
            },
            fetch: FetchConfig::default(),
            plugins: EngineConfig::default(),
            database: DatabaseConfig {
                connections: 8,
                acquire_timeout_ms: 5_000,
                writer_queue: 4_096,
            },
            scan: ScanConfig {
                extractors: Vec::new(),
                result_cache_mib: 64,
                concurrent: 256,
            },
            crawl: CrawlConfig::default(),
            log: LogConfig {
                format: LogFormat::Pretty,
                filter: "info".to_owned(),
            },
            metrics: MetricsConfig {
                listen: None,
                public: false,
            },
            retention: RetentionConfig {
                scans_days: 30,
                request_log_days: 30,
                runs_days: 90,
                project_mib: 0,
            },
            webhooks: WebhooksConfig {
                retry_delays: vec![1, 2, 4, 8],
                max_retry_after: 3_600,
                timeout_ms: 10_000,
                concurrent: 256,
                concurrent_per_target: 8,
            },
            blocklist: BlocklistConfig {
                sources: Vec::new(),
                refresh_seconds: 3_600,
            },
            tiers: tiers::defaults(),
            rendering: BrowserConfig::default(),
            cloud: CloudConfig::default(),
            signup: SignupConfig::default(),
            billing: BillingConfig::default(),
            mail: MailConfig::default(),
        }
    }
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Answers HTTP requests.
    Api,
    /// Runs background work.
    Worker,
    /// Fires monitors and housekeeping.
    Scheduler,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Api, Self::Worker, Self::Scheduler];

    /// The word in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Worker => "worker",
            Self::Scheduler => "scheduler",
        }
    }
}

/// A setting that breaks a rule: which, and what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {rule}")]
pub struct Invalid {
    setting: &'static str,
    rule: String,
}

impl Config {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.allow_nets()?;
        self.trusted_proxies()?;
        self.roles()?;
        let invalid = |setting, rule: &str| {
            Err(Invalid {
                setting,
                rule: rule.to_owned(),
            })
        };
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return invalid("tls_cert", "tls_cert and tls_key go together");
        }
        if let Some(key) = &self.bootstrap_key
            && !crate::accounts::key::is_well_formed(key.expose())
        {
            return invalid(
                "bootstrap_key",
                "must be orb_ and 32 characters of base64url (24 random bytes)",
            );
        }
        if self.http.shutdown_ms > 9_500 {
            return invalid("http.shutdown_ms", "must be at most 9500");
        }
        if self.webhooks.concurrent == 0 {
            return invalid("webhooks.concurrent", "must be at least 1");
        }
        if self.webhooks.concurrent_per_target == 0 {
            return invalid("webhooks.concurrent_per_target", "must be at least 1");
        }
        if !(1..=60_000).contains(&self.webhooks.timeout_ms) {
            return invalid("webhooks.timeout_ms", "must be between 1 and 60000");
        }
        if self.webhooks.retry_delays.len() > 100 {
            return invalid("webhooks.retry_delays", "must be at most 100 waits");
        }
        if self.crawl.lease_ms < 1_000 {
            return invalid("crawl.lease_ms", "must be at least 1000");
        }
        if self.rendering.concurrent == 0 || self.rendering.max_uses == 0 {
            return invalid("rendering", "concurrent and max_uses must be at least 1");
        }
        if self.cloud.vendor_url.is_some() != self.cloud.vendor_key.is_some() {
            return invalid("cloud.vendor_url", "vendor_url and vendor_key go together");
        }
        if self.cloud.prices.invalid() {
            return invalid("cloud.prices", "must be numbers, 0 or more");
        }
        self.validate_accounts()?;
        if self.scan.concurrent == 0 {
            return invalid("scan.concurrent", "must be at least 1");
        }
        Ok(())
    }

    /// The networks that the guard lets through.
    pub fn allow_nets(&self) -> Result<Vec<IpNet>, Invalid> {
        nets("allow_nets", &self.allow_nets)
    }

    /// The proxies whose `X-Forwarded-For` is believed.
    pub fn trusted_proxies(&self) -> Result<Vec<IpNet>, Invalid> {
        nets("trusted_proxies", &self.trusted_proxies)
    }

    /// What this process does.
    pub fn roles(&self) -> Result<Vec<Role>, Invalid> {
        let roles: Result<Vec<Role>, Invalid> = self
            .roles
            .iter()
            .map(|word| {
                Role::ALL
                    .into_iter()
                    .find(|role| role.as_str() == word)
                    .ok_or_else(|| Invalid {
                        setting: "roles",
                        rule: format!("`{word}` is none of api, worker, scheduler"),
                    })
            })
            .collect();
        match roles {
            Ok(roles) if roles.is_empty() => Err(Invalid {
                setting: "roles",
                rule: "name at least one of api, worker, scheduler".to_owned(),
            }),
            other => other,
        }
    }

    /// The database's URL: the configured one, or a SQLite file in the data folder.
    pub fn database_url(&self) -> SafeUrl {
        self.database_url.clone().unwrap_or_else(|| {
            SafeUrl::new(format!(
                "sqlite:{}",
                self.data_dir.join("orbweaver.db").display()
            ))
        })
    }

    /// The plugin folder: the configured one, or `plugins` beside the binary's folder.
    pub fn plugin_dir(&self) -> PathBuf {
        self.plugin_dir
            .clone()
            .or_else(|| self.plugins.plugin_dir.clone())
            .unwrap_or_else(|| {
                std::env::current_exe()
                    .ok()
                    .and_then(|binary| Some(binary.parent()?.parent()?.join("plugins")))
                    .unwrap_or_else(|| PathBuf::from("plugins"))
            })
    }

    /// Folder of compiled plugins.
    pub fn compiled_dir(&self) -> PathBuf {
        self.data_dir.join("compiled")
    }

    /// How the store is opened.
    pub fn store_options(&self) -> orbweaver_store::Options {
        orbweaver_store::Options {
            connections: self.database.connections,
            acquire_timeout: Duration::from_millis(self.database.acquire_timeout_ms),
            writer_queue: self.database.writer_queue,
            ..orbweaver_store::Options::url(self.database_url().expose())
        }
    }

    /// Creates the data folder, for this user only: keys and compiled code live there.
    ///
    /// # Errors
    /// That of the file system, naming the folder.
    pub fn create_data_dir(&self) -> anyhow::Result<()> {
        create_private_dir(&self.data_dir).map_err(|error| {
            anyhow::anyhow!(
                "cannot create the data folder {}: {error}; name another with --data-dir",
                self.data_dir.display()
            )
        })
    }
}

fn create_private_dir(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}

fn nets(setting: &'static str, nets: &[String]) -> Result<Vec<IpNet>, Invalid> {
    nets.iter()
        .map(|net| {
            net.parse::<IpNet>()
                .or_else(|_| net.parse::<std::net::IpAddr>().map(IpNet::from))
                .map_err(|_| Invalid {
                    setting,
                    rule: format!("`{net}` is no network such as 10.0.0.0/8 or fd00::/8"),
                })
        })
        .collect()
}

/// A list, or one string with commas: environment variables have no lists.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<String>),
        Commas(String),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::List(list) => list,
        Either::Commas(text) => text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// As [`list`], of whole numbers.
fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<u32>),
        One(u32),
        Commas(String),
    }
    let wrong = || serde::de::Error::custom("must be a list of whole numbers");
    match Either::deserialize(deserializer).map_err(|_| wrong())? {
        Either::List(list) => Ok(list),
        Either::One(number) => Ok(vec![number]),
        Either::Commas(text) => text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| item.parse().map_err(|_| wrong()))
            .collect(),
    }
}
