//! The operator's settings and their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::proxy::{Pool, ProxyUrl};

/// Settings of a [`Fetcher`](crate::Fetcher).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FetchConfig {
    /// Networks that may be fetched from besides the public internet.
    pub allow_nets: Vec<IpNet>,
    /// Times and sizes.
    pub limits: Limits,
    /// Proxy pools by name: where a pool's requests go. `{country}` in a URL stands for
    /// the ISO-2 code asked for, in lower case; `{session}` for a number new with each request.
    pub proxy_pools: BTreeMap<Pool, Vec<ProxyUrl>>,
    /// Whether HTTP proxies may be given names, which they resolve themselves: see
    /// [`ProxyUrl`]. `false` refuses targets with a name through them.
    pub trust_http_proxies: bool,
    /// User agents to rotate through instead of the built-in browsers'.
    pub user_agents: Vec<String>,
    /// Certificates (DER) that are trusted besides the system's roots.
    #[serde(skip)]
    pub extra_roots: Vec<Vec<u8>>,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            allow_nets: Vec::new(),
            limits: Limits::default(),
            proxy_pools: BTreeMap::new(),
            trust_http_proxies: true,
            user_agents: Vec::new(),
            extra_roots: Vec::new(),
        }
    }
}

/// Bounds of one fetch: redirects, retries and the body all count towards the same ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Resolving, connecting and the TLS handshake, in milliseconds.
    pub connect_ms: u64,
    /// From sending a request to the end of the response's headers, in milliseconds.
    pub first_byte_ms: u64,
    /// The whole fetch, in milliseconds.
    pub total_ms: u64,
    /// Bytes of the body, as received and decoded alike.
    pub max_body_bytes: u64,
    /// Redirects followed.
    pub max_redirects: u32,
    /// Bytes a second below which a body counts as stalled, measured over
    /// [`min_rate_window_ms`](Self::min_rate_window_ms). 0: no such rule.
    pub min_rate: u64,
    /// How long the rate may stay below [`min_rate`](Self::min_rate), in milliseconds.
    pub min_rate_window_ms: u64,
    /// Response headers, by number.
    pub max_headers: u32,
    /// Response headers, by their total size in bytes.
    pub max_header_bytes: u32,
    /// Idle connections kept per host.
    pub idle_per_host: u32,
    /// How long an idle connection is kept, in milliseconds.
    pub idle_ms: u64,
    /// HTTP clients kept: one for direct requests, one for each proxy in use.
    pub max_clients: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_ms: 10_000,
            first_byte_ms: 15_000,
            total_ms: 30_000,
            max_body_bytes: 20 << 20,
            max_redirects: 10,
            min_rate: 512,
            min_rate_window_ms: 10_000,
            max_headers: 256,
            max_header_bytes: 256 * 1024,
            idle_per_host: 32,
            idle_ms: 30_000,
            max_clients: 64,
        }
    }
}

impl Limits {
    pub(crate) const fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    pub(crate) const fn first_byte(&self) -> Duration {
        Duration::from_millis(self.first_byte_ms)
    }

    pub(crate) const fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }

    pub(crate) const fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}
