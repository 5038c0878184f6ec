//! `[http]`, and what of the configuration the interface needs to know.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;
use orbweaver_core::setting::InvalidSetting;
use orbweaver_pipeline::config::CloudConfig;
use serde::{Deserialize, Serialize};

/// `[http]`: this server's own HTTP.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct HttpConfig {
    pub max_body_bytes: usize,
    pub header_timeout_ms: u64,
    pub idle_timeout_ms: u64,
    pub write_timeout_ms: u64,
    pub body_timeout_ms: u64,
    pub request_timeout_ms: u64,
    pub shutdown_ms: u64,
    pub max_connections: Option<usize>,
    pub max_connections_per_address: Option<usize>,
    pub http2_max_streams: u32,
    pub http2_ping_ms: u64,
    pub log_requests_per_day: u64,
    pub rate: RateConfig,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            header_timeout_ms: 30_000,
            idle_timeout_ms: 60_000,
            write_timeout_ms: 60_000,
            body_timeout_ms: 60_000,
            request_timeout_ms: 300_000,
            shutdown_ms: 8_000,
            max_connections: None,
            max_connections_per_address: None,
            http2_max_streams: 100,
            http2_ping_ms: 30_000,
            log_requests_per_day: 100_000,
            rate: RateConfig::default(),
        }
    }
}

/// `[http.rate]`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct RateConfig {
    pub key: RateLimit,
    pub address: RateLimit,
    pub keyless: RateLimit,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            key: RateLimit {
                per_second: 200,
                burst: 2_000,
            },
            address: RateLimit {
                per_second: 500,
                burst: 5_000,
            },
            keyless: RateLimit {
                per_second: 20,
                burst: 500,
            },
        }
    }
}

/// A bucket of `burst` requests that refills at `per_second`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Requests a second in the long run; 0: no limit.
    pub per_second: u32,
    /// Requests at once.
    pub burst: u32,
}

impl HttpConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.max_connections != Some(0) && self.max_connections_per_address != Some(0),
            "http.max_connections",
            "must be at least 1, and so must http.max_connections_per_address",
        )?;
        InvalidSetting::unless(
            self.http2_max_streams > 0,
            "http.http2_max_streams",
            "must be at least 1",
        )?;
        InvalidSetting::unless(
            self.shutdown_ms <= 9_500,
            "http.shutdown_ms",
            "must be at most 9500",
        )
    }
}

/// What the interface is told of the configuration.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Longest time to an answer.
    pub request_timeout: Duration,
    /// Longest time for a request's body to arrive.
    pub body_timeout: Duration,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// Where clients reach the API, where that is configured.
    pub public_url: Option<String>,
    /// The address that the API listens on.
    pub listen: SocketAddr,
    /// TLS is terminated here.
    pub serves_tls: bool,
    /// Metrics are on the API's own port, too.
    pub public_metrics: bool,
    /// Requests logged per project and UTC day.
    pub log_requests_per_day: u64,
    /// `[cloud]`: search engines and their prices.
    pub cloud: CloudConfig,
}
