//! The configuration: one typed struct, filled from defaults, then a TOML file, then
//! `ORBWEAVER_…` variables, then flags; later sources win.

mod load;
mod private;
mod reference;
mod settings;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use orbweaver_accounts::config::{BillingConfig, MailConfig, SignupConfig, http_url};
use orbweaver_accounts::key;
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_accounts::tiers::{self, Tiers};
use orbweaver_api::config::{ApiSettings, HttpConfig};
use orbweaver_core::setting::{InvalidSetting, list};
use orbweaver_crawl::config::{CrawlConfig, RetentionConfig, WebhooksConfig};
use orbweaver_engine::EngineConfig;
use orbweaver_fetch::{BrowserConfig, FetchConfig};
use orbweaver_pipeline::PipelineSettings;
use orbweaver_pipeline::config::{BlocklistConfig, CloudConfig, ScanConfig};
use serde::{Deserialize, Serialize};

pub use load::{Flags, Loaded, load};
pub use reference::reference;

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
    pub tiers: Tiers,
    pub rendering: BrowserConfig,
    pub cloud: CloudConfig,
    pub signup: SignupConfig,
    pub billing: BillingConfig,
    pub mail: MailConfig,
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
            http: HttpConfig::default(),
            fetch: FetchConfig::default(),
            plugins: EngineConfig::default(),
            database: DatabaseConfig {
                connections: 8,
                acquire_timeout_ms: 5_000,
                writer_queue: 4_096,
            },
            scan: ScanConfig::default(),
            crawl: CrawlConfig::default(),
            log: LogConfig {
                format: LogFormat::Pretty,
                filter: "info".to_owned(),
            },
            metrics: MetricsConfig {
                listen: None,
                public: false,
            },
            retention: RetentionConfig::default(),
            webhooks: WebhooksConfig::default(),
            blocklist: BlocklistConfig::default(),
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

impl Config {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        let unless = InvalidSetting::unless;
        self.allow_nets()?;
        self.trusted_proxies()?;
        self.roles()?;
        unless(
            self.tls_cert.is_some() == self.tls_key.is_some(),
            "tls_cert",
            "tls_cert and tls_key go together",
        )?;
        let key = self.bootstrap_key.as_ref();
        unless(
            key.is_none_or(|key| key::is_well_formed(key.expose())),
            "bootstrap_key",
            "must be orb_ and 32 characters of base64url (24 random bytes)",
        )?;
        let secret = self.secret_key.as_ref();
        unless(
            secret.is_none_or(|secret| secret.expose().len() >= 32),
            "secret_key",
            "must be at least 32 characters",
        )?;
        http_url("public_url", self.public_url.as_deref())?;
        unless(
            self.rendering.concurrent > 0 && self.rendering.max_uses > 0,
            "rendering",
            "concurrent and max_uses must be at least 1",
        )?;
        unless(
            !self.signup.resolved(self.only_loopback()).is_open()
                || self.tiers.contains_key("free"),
            "tiers",
            "signup needs tier free",
        )?;
        self.http.validate()?;
        self.scan.validate()?;
        self.crawl.validate()?;
        self.webhooks.validate()?;
        self.cloud.validate()?;
        self.signup.validate()?;
        self.mail.validate()?;
        self.billing.validate(&self.mail)
    }

    /// Whether only this machine reaches the listeners.
    pub fn only_loopback(&self) -> bool {
        std::iter::once(self.listen)
            .chain(self.metrics.listen)
            .all(|address| address.ip().to_canonical().is_loopback())
    }

    /// The networks that the guard lets through.
    pub fn allow_nets(&self) -> Result<Vec<IpNet>, InvalidSetting> {
        nets("allow_nets", &self.allow_nets)
    }

    /// The proxies whose `X-Forwarded-For` is believed.
    pub fn trusted_proxies(&self) -> Result<Vec<IpNet>, InvalidSetting> {
        nets("trusted_proxies", &self.trusted_proxies)
    }

    /// What this process does.
    pub fn roles(&self) -> Result<Vec<Role>, InvalidSetting> {
        let roles: Result<Vec<Role>, InvalidSetting> = self
            .roles
            .iter()
            .map(|word| {
                Role::ALL
                    .into_iter()
                    .find(|role| role.as_str() == word)
                    .ok_or_else(|| {
                        InvalidSetting::new(
                            "roles",
                            format!("`{word}` is none of api, worker, scheduler"),
                        )
                    })
            })
            .collect();
        match roles {
            Ok(roles) if roles.is_empty() => Err(InvalidSetting::new(
                "roles",
                "name at least one of api, worker, scheduler",
            )),
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

    /// What the pipeline is made from.
    ///
    /// # Errors
    /// A network that is none.
    pub fn pipeline(&self) -> Result<PipelineSettings, InvalidSetting> {
        let mut fetch = self.fetch.clone();
        fetch.allow_nets.extend(self.allow_nets()?);
        let mut plugins = self.plugins.clone();
        plugins.cache_dir.get_or_insert_with(|| self.compiled_dir());
        plugins.plugin_dir = Some(self.plugin_dir());
        Ok(PipelineSettings {
            fetch,
            plugins,
            scan: self.scan.clone(),
        })
    }

    /// What the interface is told.
    ///
    /// # Errors
    /// A network that is none.
    pub fn api(&self) -> Result<ApiSettings, InvalidSetting> {
        Ok(ApiSettings {
            max_body_bytes: self.http.max_body_bytes,
            request_timeout: Duration::from_millis(self.http.request_timeout_ms),
            body_timeout: Duration::from_millis(self.http.body_timeout_ms),
            trusted_proxies: self.trusted_proxies()?,
            public_url: self.public_url.clone(),
            listen: self.listen,
            serves_tls: self.tls_cert.is_some(),
            public_metrics: self.metrics.public,
            log_requests_per_day: self.http.log_requests_per_day,
            cloud: self.cloud.clone(),
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

    /// Creates the data folder, and makes its files this user's alone: keys and compiled code
    /// live there.
    ///
    /// # Errors
    /// That of the file system, naming the folder.
    pub fn create_data_dir(&self) -> anyhow::Result<()> {
        private::prepare(self).map_err(|error| {
            anyhow::anyhow!(
                "cannot write to the data folder {}: {error}; name another with --data-dir",
                self.data_dir.display()
            )
        })
    }
}

fn nets(setting: &'static str, nets: &[String]) -> Result<Vec<IpNet>, InvalidSetting> {
    nets.iter()
        .map(|net| {
            net.parse::<IpNet>()
                .or_else(|_| net.parse::<std::net::IpAddr>().map(IpNet::from))
                .map_err(|_| {
                    InvalidSetting::new(
                        setting,
                        format!("`{net}` is no network such as 10.0.0.0/8 or fd00::/8"),
                    )
                })
        })
        .collect()
}
