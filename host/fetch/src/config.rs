//! The operator's settings and their defaults.

use std::collections::BTreeMap;

use ipnet::IpNet;
use orbweaver_core::setting::{Millis, list, nets};
use orbweaver_core::settings;
use serde::{Deserialize, Deserializer};

use crate::proxy::{ProxyPool, ProxyUrl};

settings! {
    /// `[fetch]`: settings of a [`Fetcher`](crate::Fetcher).
    pub struct FetchConfig {
        /// Same meaning as `allow_nets`; the lists are merged.
        #[serde(deserialize_with = "nets")]
        pub allow_nets: Vec<IpNet>,
        /// User agents to rotate through instead of those of the built-in browsers.
        pub user_agents: Vec<String>,
        /// Proxies by pool (datacenter, isp, residential, mobile): lists of http, https or
        /// socks5 URLs. In a URL, `{country}` is replaced by the requested ISO-2 code in lower
        /// case, and `{session}` by a new number for each request.
        #[serde(deserialize_with = "pools")]
        pub proxy_pools: BTreeMap<ProxyPool, Vec<ProxyUrl>>,
        /// Whether requests may go through HTTP proxies, which resolve host names themselves.
        /// Set false if a proxy inside your network can reach private addresses; SOCKS5 proxies
        /// get addresses that were already checked.
        pub trust_http_proxies: bool = true,
        /// Certificates (DER) trusted in addition to the system's root certificates.
        #[internal]
        pub extra_roots: Vec<Vec<u8>>,
        /// `[fetch.limits]`.
        #[section]
        pub limits: Limits,
    }
}

/// The pools, each a list or one text with commas.
fn pools<'de, D>(deserializer: D) -> Result<BTreeMap<ProxyPool, Vec<ProxyUrl>>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    struct Pool(#[serde(deserialize_with = "list")] Vec<ProxyUrl>);

    let pools = BTreeMap::<ProxyPool, Pool>::deserialize(deserializer)?;
    Ok(pools
        .into_iter()
        .map(|(pool, urls)| (pool, urls.0))
        .collect())
}

settings! {
    /// `[fetch.limits]`: bounds of one fetch. Redirects, retries and the body share them.
    #[derive(PartialEq, Eq)]
    pub struct Limits {
        /// Longest time to resolve the name, connect and complete TLS, in milliseconds.
        pub connect_ms: Millis = Millis(10_000),
        /// Longest time from sending a request to the end of the response headers, in milliseconds.
        pub first_byte_ms: Millis = Millis(15_000),
        /// Longest time of a whole fetch including redirects, in milliseconds.
        pub total_ms: Millis = Millis(30_000),
        /// Largest body, both as received and decoded, in bytes.
        pub max_body_bytes: u64 = 20 << 20,
        /// Memory for all bodies that are larger than 1 MiB, as received and decoded, together, in
        /// MiB; fetches that need more fail, and may be tried again. A project's bodies may take
        /// three times as much as is left free: three quarters if no other project has any.
        pub max_bodies_mib: u64 = 256,
        /// MiB that fetches of a project without a result, which are free, may receive in an
        /// hour: transfers that break, bodies that are too large, and what comes before a response
        /// that never comes. Then its bodies of more than 1 MiB fail, and may be tried again.
        /// 0: no bound.
        pub failed_mib_per_hour: u32 = 1_024,
        /// Redirects followed.
        pub max_redirects: u32 = 10,
        /// Bytes per second below which a body counts as stalled; 0: no minimum.
        pub min_rate: u64 = 512,
        /// Longest time that a body may stay below `min_rate`, in milliseconds.
        pub min_rate_window_ms: Millis = Millis(10_000),
        /// Most response headers.
        pub max_headers: u32 = 256,
        /// Largest total size of response headers, in bytes.
        pub max_header_bytes: u32 = 256 * 1024,
        /// Most idle connections kept per host.
        pub idle_per_host: u32 = 32,
        /// Time that an idle connection is kept, in milliseconds.
        pub idle_ms: Millis = Millis(30_000),
        /// Most HTTP clients kept for proxies: one for each proxy that a project uses.
        pub max_clients: u32 = 64,
    }
}
