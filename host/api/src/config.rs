//! `[http]`, and what of the configuration the interface needs to know.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;
use orbweaver_core::setting::{HttpUrl, InvalidSetting, Millis};
use orbweaver_core::settings;
use orbweaver_pipeline::config::CloudConfig;

settings! {
    /// `[http]`: this server's own HTTP.
    pub struct HttpConfig {
        /// Largest request body, in bytes; a larger one is answered 413.
        pub max_body_bytes: usize = 16 << 20,
        /// Time for a client to send a request's head, in milliseconds; also how long an idle
        /// connection is kept.
        pub header_timeout_ms: Millis = Millis(30_000),
        /// Time for a client to send a request's body, in milliseconds.
        pub body_timeout_ms: Millis = Millis(60_000),
        /// Longest time to an answer, in milliseconds; then 408.
        pub request_timeout_ms: Millis = Millis(300_000),
        /// On SIGTERM, time for running requests to finish, in milliseconds (at most 9500).
        pub shutdown_ms: Millis = Millis(8_000),
    }
}

impl HttpConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.shutdown_ms <= Millis(9_500),
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
    pub public_url: Option<HttpUrl>,
    /// The address that the API listens on.
    pub listen: SocketAddr,
    /// TLS is terminated here.
    pub serves_tls: bool,
    /// Metrics are on the API's own port, too.
    pub public_metrics: bool,
    /// `[cloud]`: search engines and their prices.
    pub cloud: CloudConfig,
}
