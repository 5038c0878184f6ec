//! `[http]`, and the part of the configuration that the API needs.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;
use orbweaver_core::setting::{HttpUrl, InvalidSetting, Millis};
use orbweaver_core::settings;
use orbweaver_pipeline::config::CloudConfig;
use serde::{Deserialize, Serialize};

settings! {
    /// `[http]`: this server's own HTTP.
    pub struct HttpConfig {
        /// Largest request body, in bytes; a larger one is answered 413.
        pub max_body_bytes: usize = 16 << 20,
        /// Memory for the bodies of all requests together, in MiB, those that are being read
        /// included. Bodies over 64 KiB have three quarters of it, those of one project (without a
        /// key: of one address) one third; beyond it 429 with Retry-After. 0: no bound.
        pub request_memory_mib: u64 = 256,
        /// Memory for all answers over 64 KiB, in MiB, until their clients have read them; what is read
        /// from the database takes it before it is made, pages that are fetched before they are billed.
        /// Shared like http.request_memory_mib. 0: no bound.
        pub answer_memory_mib: u64 = 512,
        /// Largest answer that gathers several results (POST /v1/scan/bulk, /v1/cloud/crawl,
        /// /v1/cloud/search), in bytes; what comes after it is reached fails alone, and is not billed;
        /// of a search it has no content.
        pub max_answer_bytes: usize = 64 << 20,
        /// Time for a client to send the first request's head, TLS handshake included, in
        /// milliseconds.
        pub header_timeout_ms: Millis = Millis(30_000),
        /// Time between an answer and the next request's head on the same connection, in
        /// milliseconds.
        pub idle_timeout_ms: Millis = Millis(60_000),
        /// How long a client may be behind in taking its answer (see http.min_write_rate), in
        /// milliseconds; one that takes no byte for so long is behind by it.
        pub write_timeout_ms: Millis = Millis(60_000),
        /// Bytes a second that a client must take, in the long run, of an answer whose length is
        /// known; http.write_timeout_ms is how far it may be behind. 0: any byte will do.
        pub min_write_rate: u64 = 4_096,
        /// Time for a client to send a request's body, in milliseconds.
        pub body_timeout_ms: Millis = Millis(60_000),
        /// Longest time to an answer, in milliseconds; then 408.
        pub request_timeout_ms: Millis = Millis(300_000),
        /// On SIGTERM, time for running requests to finish, in milliseconds (at most 9500).
        pub shutdown_ms: Millis = Millis(8_000),
        /// Open connections of a listener. Beyond it the connection that has been quiet for
        /// longest is closed; a new one is refused where all are busy. Unset: half of the files
        /// that this process may open, at most 10000.
        pub max_connections: Option<usize>,
        /// Of these, from one IPv4 address or one IPv6 /64 network; not counted for
        /// trusted_proxies. Unset: a quarter of http.max_connections.
        pub max_connections_per_address: Option<usize>,
        /// Requests at once on one HTTP/2 connection.
        pub http2_max_streams: u32 = 100,
        /// How often an HTTP/2 client is pinged, in milliseconds; it has as long to answer. 0:
        /// never.
        pub http2_ping_ms: Millis = Millis(30_000),
        /// Requests that GET /v1/logs remembers per project and UTC day, by process; further ones
        /// are answered and not logged.
        pub log_requests_per_day: u64 = 100_000,
        /// `[http.rate]`.
        #[section]
        pub rate: RateConfig,
    }
}

settings! {
    /// `[http.rate]`: rates of requests.
    #[derive(Copy)]
    pub struct RateConfig {
        /// Requests of one project, with all its keys: `burst` at once, `per_second` in the long run
        /// (0: no limit); beyond it 429 with Retry-After, RateLimit and RateLimit-Policy.
        pub key: RateLimit = RateLimit { per_second: 200, burst: 2_000 },
        /// As http.rate.key, for all requests of one IPv4 address or IPv6 /64 network.
        /// GET /v1/health is not counted.
        pub address: RateLimit = RateLimit { per_second: 500, burst: 5_000 },
        /// As http.rate.address, for requests without a valid key.
        pub keyless: RateLimit = RateLimit { per_second: 20, burst: 500 },
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
    /// Checks rules that the types do not express.
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
            self.max_answer_bytes > 0,
            "http.max_answer_bytes",
            "must be at least 1",
        )?;
        InvalidSetting::unless(
            self.http2_max_streams > 0,
            "http.http2_max_streams",
            "must be at least 1",
        )?;
        InvalidSetting::unless(
            self.shutdown_ms <= Millis(9_500),
            "http.shutdown_ms",
            "must be at most 9500",
        )
    }
}

/// The part of the configuration that the API needs.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Largest answer that gathers several results, in bytes.
    pub max_answer_bytes: usize,
    /// Longest time to an answer.
    pub request_timeout: Duration,
    /// Longest time for a request's body to arrive.
    pub body_timeout: Duration,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// The configured base URL of the API.
    pub public_url: Option<HttpUrl>,
    /// The address that the API listens on.
    pub listen: SocketAddr,
    /// Whether this server terminates TLS.
    pub serves_tls: bool,
    /// Whether the API's port also serves metrics.
    pub public_metrics: bool,
    /// Requests logged per project and UTC day.
    pub log_requests_per_day: u64,
    /// `[cloud]`: search engines and their prices.
    pub cloud: CloudConfig,
}
