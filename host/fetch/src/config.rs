//! The operator's settings and their defaults.

use std::collections::BTreeMap;

use ipnet::IpNet;
use orbweaver_core::setting::{Millis, nets};
use orbweaver_core::settings;

use crate::proxy::{Pool, ProxyUrl};

settings! {
    /// `[fetch]`: settings of a [`Fetcher`](crate::Fetcher).
    pub struct FetchConfig {
        /// As `allow_nets`; both lists count.
        #[serde(deserialize_with = "nets")]
        pub allow_nets: Vec<IpNet>,
        /// User agents to rotate through instead of the built-in browsers'.
        pub user_agents: Vec<String>,
        /// Proxies by pool (datacenter, isp, residential, mobile): lists of http, https or
        /// socks5 URLs. `{country}` in a URL stands for the ISO-2 code asked for, in lower
        /// case, `{session}` for a number new with each request.
        pub proxy_pools: BTreeMap<Pool, Vec<ProxyUrl>>,
        /// Whether HTTP proxies may be given names, which they resolve again themselves: false
        /// refuses that. Matters for proxies inside your network that do not refuse private
        /// destinations; SOCKS5 proxies are given judged addresses.
        pub trust_http_proxies: bool = true,
        /// Certificates (DER) that are trusted besides the system's roots.
        #[internal]
        pub extra_roots: Vec<Vec<u8>>,
        /// `[fetch.limits]`.
        #[section]
        pub limits: Limits,
    }
}

settings! {
    /// `[fetch.limits]`: bounds of one fetch. Redirects, retries and the body all count
    /// towards the same ones.
    #[derive(PartialEq, Eq)]
    pub struct Limits {
        /// Time to resolve, connect and shake hands, in milliseconds.
        pub connect_ms: Millis = Millis(10_000),
        /// Time from sending a request to the end of the response's headers, in milliseconds.
        pub first_byte_ms: Millis = Millis(15_000),
        /// Time of a whole fetch, redirects included, in milliseconds.
        pub total_ms: Millis = Millis(30_000),
        /// Largest body, as received and decoded alike, in bytes.
        pub max_body_bytes: u64 = 20 << 20,
        /// Memory for all bodies that are larger than 1 MiB, as received and decoded, together, in
        /// MiB; fetches that need more fail, and may be tried again.
        pub max_bodies_mib: u64 = 256,
        /// Redirects followed.
        pub max_redirects: u32 = 10,
        /// Bytes a second below which a body counts as stalled; 0: never.
        pub min_rate: u64 = 512,
        /// How long a body may stay below `min_rate`, in milliseconds.
        pub min_rate_window_ms: Millis = Millis(10_000),
        /// Response headers, by number.
        pub max_headers: u32 = 256,
        /// Response headers, by their total size in bytes.
        pub max_header_bytes: u32 = 256 * 1024,
        /// Idle connections kept per host.
        pub idle_per_host: u32 = 32,
        /// How long an idle connection is kept, in milliseconds.
        pub idle_ms: Millis = Millis(30_000),
        /// HTTP clients kept: one for direct requests, one for each proxy in use.
        pub max_clients: u32 = 64,
    }
}
