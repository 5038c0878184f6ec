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
    pub body_timeout_ms: u64,
    pub request_timeout_ms: u64,
    pub shutdown_ms: u64,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            header_timeout_ms: 30_000,
            body_timeout_ms: 60_000,
            request_timeout_ms: 300_000,
            shutdown_ms: 8_000,
        }
    }
}

impl HttpConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
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
    /// `[cloud]`: search engines and their prices.
    pub cloud: CloudConfig,
}
