//! All settings: the top level and its sections, with the rules across sections.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ipnet::IpNet;
use orbweaver_accounts::config::{BillingConfig, MailConfig, SignupConfig};
use orbweaver_accounts::key;
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_accounts::tiers::{self, Tiers};
use orbweaver_actors::config::JobsConfig;
use orbweaver_api::config::{ApiSettings, HttpConfig};
use orbweaver_core::setting::{HttpUrl, InvalidSetting, Millis, Seconds, list, nets};
use orbweaver_core::settings;
use orbweaver_crawl::config::{CrawlConfig, RetentionConfig, WebhooksConfig};
use orbweaver_engine::{EngineConfig, has_bundle};
use orbweaver_fetch::{BrowserConfig, FetchConfig};
use orbweaver_pipeline::PipelineSettings;
use orbweaver_pipeline::config::{BlocklistConfig, CloudConfig, ScanConfig};
use orbweaver_store::blobs::{BlobUrl, NewBodies};
use serde::{Deserialize, Serialize};

use super::{private, ranges};

/// The file of the running program, even if it was replaced meanwhile.
pub const PROGRAM: &str = "/proc/self/exe";

settings! {
    /// Every setting. `orbweaver config` prints them with their help texts.
    pub struct Config {
        /// Address and port that the API listens on.
        #[flag = "--listen"]
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080)),
        /// Folder for the SQLite file and the instance's secret. Only this user may write there.
        #[flag = "--data-dir"]
        pub data_dir: PathBuf = PathBuf::from("./data"),
        /// postgres://USER:PASSWORD@HOST/DATABASE for several nodes. Unset: a SQLite file in the
        /// data folder.
        #[flag = "--database-url"]
        pub database_url: Option<SafeUrl>,
        /// Where bodies of pages are kept: s3://BUCKET/PREFIX?endpoint=URL&region=NAME (a bucket of
        /// an S3-compatible store), or file:///FOLDER. Unset: in the database.
        #[flag = "--blobs"]
        pub blobs: Option<BlobUrl>,
        /// Folder of plugins. It is watched: new, changed and removed files take effect while
        /// running. A plugin overrides one of its name inside the program. Unset: `plugins` beside
        /// the binary's folder; none if the program has plugins inside.
        #[flag = "--plugin-dir"]
        pub plugin_dir: Option<PathBuf>,
        /// Networks that may be fetched besides the public internet, such as 10.0.0.0/8.
        #[flag = "--allow-net"]
        #[serde(deserialize_with = "nets")]
        pub allow_nets: Vec<IpNet>,
        /// The first key, used on the first start on an empty database: orb_ and 24 random bytes
        /// in base64url. Unset: a generated key is printed once.
        pub bootstrap_key: Option<Secret>,
        /// Secret of this instance, at least 32 characters: encrypts the secrets of projects and waiting
        /// mails, which cannot be read without it, and signs sign-ins of the console. All nodes of a
        /// database need the same. Unset: a file `secret.key` in the data folder.
        pub secret_key: Option<Secret>,
        /// URL at which clients reach the API, such as `https://crawl.example.com`, for links in
        /// answers. Unset: the Host header of requests from this machine or trusted_proxies, else
        /// the listen address.
        pub public_url: Option<HttpUrl>,
        /// Browser for rendering. Unset: the first on PATH of chromium-headless-shell, chromium,
        /// chromium-browser, google-chrome.
        #[flag = "--browser"]
        pub browser: Option<PathBuf>,
        /// Certificate chain (PEM), to serve HTTPS directly. Unset: plain HTTP, for use behind a
        /// proxy that terminates TLS.
        #[flag = "--tls-cert"]
        pub tls_cert: Option<PathBuf>,
        /// Private key (PEM) of the certificate.
        #[flag = "--tls-key"]
        pub tls_key: Option<PathBuf>,
        /// Roles of this process: api answers requests, worker crawls and delivers webhooks,
        /// scheduler fires monitors and deletes expired data.
        #[flag = "--roles"]
        #[serde(deserialize_with = "list")]
        pub roles: Vec<Role> = Role::ALL.to_vec(),
        /// Networks of reverse proxies whose X-Forwarded-For is trusted.
        #[serde(deserialize_with = "nets")]
        pub trusted_proxies: Vec<IpNet>,
        /// `[http]`.
        #[section]
        pub http: HttpConfig,
        /// `[fetch]`.
        #[section]
        pub fetch: FetchConfig,
        /// `[plugins]`.
        #[section]
        pub plugins: EngineConfig,
        /// `[registry]`.
        #[section]
        pub registry: RegistryConfig,
        /// `[database]`.
        #[section]
        pub database: DatabaseConfig,
        /// `[blob_store]`.
        #[section]
        pub blob_store: BlobStoreConfig,
        /// `[scan]`.
        #[section]
        pub scan: ScanConfig,
        /// `[crawl]`.
        #[section]
        pub crawl: CrawlConfig,
        /// `[jobs]`.
        #[section]
        pub jobs: JobsConfig,
        /// `[log]`.
        #[section]
        pub log: LogConfig,
        /// `[metrics]`.
        #[section]
        pub metrics: MetricsConfig,
        /// `[retention]`.
        #[section]
        pub retention: RetentionConfig,
        /// `[webhooks]`.
        #[section]
        pub webhooks: WebhooksConfig,
        /// `[blocklist]`.
        #[section]
        pub blocklist: BlocklistConfig,
        /// `[tiers]`.
        #[section = tiers::describe]
        pub tiers: Tiers = tiers::defaults(),
        /// `[rendering]`.
        #[section]
        pub rendering: BrowserConfig,
        /// `[cloud]`.
        #[section]
        pub cloud: CloudConfig,
        /// `[signup]`.
        #[section]
        pub signup: SignupConfig,
        /// `[billing]`.
        #[section]
        pub billing: BillingConfig,
        /// `[mail]`.
        #[section]
        pub mail: MailConfig,
    }
}

settings! {
    /// `[registry]`: components of OCI registries.
    #[derive(PartialEq, Eq)]
    pub struct RegistryConfig {
        /// Files with public keys (PEM, ECDSA P-256). `orbweaver plugin install oci://…` installs what one of them has
        /// signed; none: signatures are not checked.
        #[serde(deserialize_with = "list")]
        pub keys: Vec<PathBuf>,
    }
}

settings! {
    /// `[database]`.
    pub struct DatabaseConfig {
        /// The PostgreSQL server itself, if database_url is that of a pooler in transaction mode
        /// (PgBouncer): for migrations and LISTEN, which need a session of their own.
        pub direct_url: Option<SafeUrl>,
        /// Streaming replicas of the PostgreSQL server, which answer long reads (lists of pages, exports, diffs,
        /// orphans, search) as soon as they have every commit; else database_url does.
        #[serde(deserialize_with = "list")]
        pub replica_urls: Vec<SafeUrl>,
        /// Number of connections: for reads (SQLite) or for all (PostgreSQL).
        pub connections: u32 = 8,
        /// Longest wait for a free connection, in milliseconds.
        pub acquire_timeout_ms: Millis = Millis(5_000),
        /// Size of the writer's queue; when it is full, callers wait.
        pub writer_queue: usize = 4_096,
    }
}

settings! {
    /// `[blob_store]`: the store that `blobs` names.
    pub struct BlobStoreConfig {
        /// Access key of the bucket. Unset: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a web
        /// identity, or the machine's metadata service.
        pub access_key_id: Option<String>,
        /// Secret of the access key.
        pub secret_access_key: Option<Secret>,
        /// Token of a temporary access key.
        pub session_token: Option<Secret>,
        /// Where new bodies are written: store, or database (to move back from a store, which is
        /// still read).
        pub new_bodies: NewBodies = NewBodies::Store,
        /// Longest time for one request to the store with its repetitions, in milliseconds.
        pub timeout_ms: Millis = Millis(30_000),
        /// Bodies of one commit that are smaller together wait in the database until they fill a
        /// segment, in KiB.
        pub least_segment_kib: u32 = 512,
        /// Longest wait in the database, in seconds.
        pub pack_after_seconds: Seconds = Seconds(300),
        /// How long objects without references are kept, in hours. A backup of the database needs
        /// them as long as it may be restored.
        pub keep_deleted_hours: u32 = 24,
        /// Age at which an object that the database does not know is deleted, in minutes.
        pub orphan_minutes: u32 = 60,
    }
}

settings! {
    /// `[log]`.
    pub struct LogConfig {
        /// pretty (for people) or json (one object per line). Logs go to standard error.
        pub format: LogFormat = LogFormat::Pretty,
        /// Lowest level logged, with exceptions: `info`, `warn,orbweaver_server=debug` …
        pub filter: String = "info".to_owned(),
    }
}

settings! {
    /// `[metrics]`.
    pub struct MetricsConfig {
        /// Address and port of Prometheus metrics (GET /metrics). Unset: no separate port.
        pub listen: Option<SocketAddr>,
        /// Whether /metrics is also served on the API's port.
        pub public: bool = false,
    }
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// A role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Answers HTTP requests.
    Api,
    /// Crawls and delivers webhooks.
    Worker,
    /// Fires monitors and deletes expired data.
    Scheduler,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Api, Self::Worker, Self::Scheduler];
}

/// The text is not the name of a [`Role`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRole(String);

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not one of api, worker, scheduler", self.0)
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, UnknownRole> {
        match word {
            "api" => Ok(Self::Api),
            "worker" => Ok(Self::Worker),
            "scheduler" => Ok(Self::Scheduler),
            _ => Err(UnknownRole(word.to_owned())),
        }
    }
}

impl Config {
    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        let unless = InvalidSetting::unless;
        unless(
            !self.roles.is_empty(),
            "roles",
            "name at least one of api, worker, scheduler",
        )?;
        unless(
            self.tls_cert.is_some() == self.tls_key.is_some(),
            "tls_cert",
            "tls_cert and tls_key must be set together",
        )?;
        let is_postgres = |url: &SafeUrl| url.expose().starts_with("postgres");
        let direct = self.database.direct_url.as_ref();
        unless(
            direct.is_none_or(|url| is_postgres(url) && is_postgres(&self.database_url())),
            "database.direct_url",
            "must be postgres://…, and so must database_url: it is that server without the pooler",
        )?;
        let replicas = &self.database.replica_urls;
        unless(
            replicas.iter().all(is_postgres)
                && (replicas.is_empty() || is_postgres(&self.database_url())),
            "database.replica_urls",
            "must be postgres://…, and so must database_url: they are replicas of its server",
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
        let is_sendable = |agent: &String| {
            !agent.is_empty() && agent.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        };
        unless(
            self.fetch.user_agents.iter().all(is_sendable),
            "fetch.user_agents",
            "must be printable ASCII, and not empty",
        )?;
        unless(
            self.rendering.concurrent > 0 && self.rendering.max_uses > 0,
            "rendering",
            "concurrent and max_uses must be at least 1",
        )?;
        unless(
            !self.signup.resolved(self.only_loopback()).is_open()
                || self.tiers.contains_key("free"),
            "tiers",
            "signup needs a tier named free",
        )?;
        unless(
            self.blob_store.access_key_id.is_some() == self.blob_store.secret_access_key.is_some(),
            "blob_store.access_key_id",
            "access_key_id and secret_access_key must be set together",
        )?;
        unless(
            (100..=600_000).contains(&self.blob_store.timeout_ms.0),
            "blob_store.timeout_ms",
            "must be between 100 and 600000",
        )?;
        unless(
            self.blob_store.least_segment_kib <= 16 << 10,
            "blob_store.least_segment_kib",
            "must be at most 16384",
        )?;
        unless(
            self.blob_store.orphan_minutes >= 10,
            "blob_store.orphan_minutes",
            "must be at least 10: younger objects may belong to a commit under way",
        )?;
        ranges::check(self)?;
        self.http.validate()?;
        self.scan.validate()?;
        self.crawl.validate()?;
        self.jobs.validate()?;
        self.webhooks.validate()?;
        self.cloud.validate()?;
        self.mail.validate()?;
        self.billing.validate(&self.mail)
    }

    /// Whether all listeners are on loopback.
    pub fn only_loopback(&self) -> bool {
        std::iter::once(self.listen)
            .chain(self.metrics.listen)
            .all(|address| address.ip().to_canonical().is_loopback())
    }

    /// The database URL: the configured one, or that of a SQLite file in the data folder.
    pub fn database_url(&self) -> SafeUrl {
        self.database_url.clone().unwrap_or_else(|| {
            SafeUrl::new(format!(
                "sqlite:{}",
                self.data_dir.join("orbweaver.db").display()
            ))
        })
    }

    /// The plugin folder: the configured one, else none if the program has plugins inside, else
    /// `plugins` beside the binary's folder.
    pub fn plugin_dir(&self) -> Option<PathBuf> {
        let configured = self.plugin_dir.clone();
        let configured = configured.or_else(|| self.plugins.plugin_dir.clone());
        if configured.is_some() || has_bundle(Path::new(PROGRAM)) {
            return configured;
        }
        let beside = std::env::current_exe()
            .ok()
            .and_then(|binary| Some(binary.parent()?.parent()?.join("plugins")));
        Some(beside.unwrap_or_else(|| PathBuf::from("plugins")))
    }

    /// Settings of the pipeline.
    pub fn pipeline(&self) -> PipelineSettings {
        let mut fetch = self.fetch.clone();
        fetch.allow_nets.extend(&self.allow_nets);
        let mut plugins = self.plugins.clone();
        plugins.cache_dir.get_or_insert_with(|| self.compiled_dir());
        plugins.plugin_dir = self.plugin_dir();
        // Without /proc, as in some chroots, only the folder can be read.
        plugins.bundle = Some(PathBuf::from(PROGRAM)).filter(|program| program.exists());
        PipelineSettings {
            fetch,
            plugins,
            scan: self.scan.clone(),
            load_behind: false,
        }
    }

    /// Settings of the API.
    pub fn api(&self) -> ApiSettings {
        ApiSettings {
            max_body_bytes: self.http.max_body_bytes,
            max_answer_bytes: self.http.max_answer_bytes,
            request_timeout: self.http.request_timeout_ms.as_duration(),
            body_timeout: self.http.body_timeout_ms.as_duration(),
            trusted_proxies: self.trusted_proxies.clone(),
            public_url: self.public_url.clone(),
            listen: self.listen,
            serves_tls: self.tls_cert.is_some(),
            public_metrics: self.metrics.public,
            log_requests_per_day: self.http.log_requests_per_day,
            cloud: self.cloud.clone(),
        }
    }

    /// Folder of compiled plugins: the user's cache, which all data folders share, where only
    /// this user may write there; else in the data folder.
    pub fn compiled_dir(&self) -> PathBuf {
        private::user_cache().unwrap_or_else(|| self.data_dir.join("compiled"))
    }

    /// Options of the store.
    pub fn store_options(&self) -> orbweaver_store::Options {
        orbweaver_store::Options {
            direct_url: (self.database.direct_url.as_ref()).map(|url| url.expose().to_owned()),
            replica_urls: (self.database.replica_urls.iter())
                .map(|url| url.expose().to_owned())
                .collect(),
            connections: self.database.connections,
            acquire_timeout: self.database.acquire_timeout_ms.as_duration(),
            writer_queue: self.database.writer_queue,
            ..orbweaver_store::Options::url(self.database_url().expose())
        }
    }

    /// Creates the data folder and restricts its files to this user: they contain keys and
    /// compiled code.
    ///
    /// # Errors
    /// The file system's error, naming the folder.
    pub fn create_data_dir(&self) -> anyhow::Result<()> {
        private::prepare(self).map_err(|error| {
            anyhow::anyhow!(
                "cannot write to the data folder {}: {error}; choose another with --data-dir",
                self.data_dir.display()
            )
        })
    }
}
