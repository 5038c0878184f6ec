//! `[scan]`, `[blocklist]`, and `[cloud]`: backends beyond this host, and what they cost.

use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::setting::{InvalidSetting, Millis, Seconds, list};
use orbweaver_core::settings;
use orbweaver_fetch::Pool;

settings! {
    /// `[cloud]`: backends beyond this host.
    pub struct CloudConfig {
        /// Base URL of an upstream provider that fetches, unblocks and searches. The guard judges
        /// it as every other: open its network with `allow_nets` if it is private.
        pub vendor_url: Option<SafeUrl>,
        /// The provider's API key.
        pub vendor_key: Option<Secret>,
        /// Time for the provider to answer, in milliseconds.
        pub vendor_timeout_ms: Millis = Millis(90_000),
        /// Base URL of a SearXNG instance (with its JSON format enabled) that /v1/cloud/search
        /// asks. Unset, the provider, else Brave, else the project's own stored pages.
        pub searxng_url: Option<SafeUrl>,
        /// Subscription token of the Brave Search API, to search the web with.
        pub brave_key: Option<Secret>,
        /// Base URL of the Brave Search API.
        pub brave_url: SafeUrl = SafeUrl::new("https://api.search.brave.com"),
        /// `[cloud.prices]`.
        #[section]
        pub prices: Prices,
    }
}

settings! {
    /// `[cloud.prices]`, in US dollars.
    #[derive(Copy, PartialEq)]
    pub struct Prices {
        /// US dollars for a page of the provider whose answer names no cost.
        pub vendor_page: f64 = 0.001,
        /// US dollars for a search at the provider whose answer names no cost.
        pub vendor_search: f64 = 0.005,
        /// US dollars for a search at Brave.
        pub brave_search: f64 = 0.005,
        /// US dollars for 10^9 bytes through the datacenter pool.
        pub datacenter_gb: f64 = 0.5,
        /// US dollars for 10^9 bytes through the isp pool.
        pub isp_gb: f64 = 2.0,
        /// US dollars for 10^9 bytes through the residential pool.
        pub residential_gb: f64 = 5.0,
        /// US dollars for 10^9 bytes through the mobile pool.
        pub mobile_gb: f64 = 8.0,
    }
}

impl Prices {
    /// US dollars for 10^9 bytes through a pool.
    pub const fn gigabyte(&self, pool: Pool) -> f64 {
        match pool {
            Pool::Datacenter => self.datacenter_gb,
            Pool::Isp => self.isp_gb,
            Pool::Residential => self.residential_gb,
            Pool::Mobile => self.mobile_gb,
        }
    }

    /// Whether a price is negative or not a number.
    fn invalid(&self) -> bool {
        [
            self.vendor_page,
            self.vendor_search,
            self.brave_search,
            self.datacenter_gb,
            self.isp_gb,
            self.residential_gb,
            self.mobile_gb,
        ]
        .iter()
        .any(|price| !price.is_finite() || *price < 0.0)
    }
}

impl CloudConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.vendor_url.is_some() == self.vendor_key.is_some(),
            "cloud.vendor_url",
            "vendor_url and vendor_key go together",
        )?;
        InvalidSetting::unless(
            !self.prices.invalid(),
            "cloud.prices",
            "must be numbers, 0 or more",
        )
    }
}

settings! {
    /// `[scan]`.
    pub struct ScanConfig {
        /// Extractors that run for every scanned page besides those of the contract; their
        /// output is under `extensions`.
        #[serde(deserialize_with = "list")]
        pub extractors: Vec<String>,
        /// Memory for extracted results and answers of stored pages, in MiB; 0 keeps none.
        pub result_cache_mib: u64 = 64,
        /// Scans at once in this process; more wait, and projects take turns. One project has
        /// three quarters of them at most.
        pub concurrent: usize = 256,
        /// Scans of one project that may wait; more are answered 429.
        pub queue_per_project: usize = 1_000,
    }
}

impl ScanConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(self.concurrent > 0, "scan.concurrent", "must be at least 1")
    }
}

settings! {
    /// `[blocklist]`: malicious domains.
    pub struct BlocklistConfig {
        /// Lists of malicious domains: files, watched, or http(s) URLs. Hosts files and plain
        /// lists of one name a line; a name stands for its subdomains. What is on them is never
        /// fetched.
        #[serde(deserialize_with = "list")]
        pub sources: Vec<String>,
        /// Whether the service refuses to start while a list at a URL can neither be read nor was
        /// kept in the data folder by an earlier start.
        pub required: bool = true,
        /// How often lists at URLs are asked for anew, in seconds.
        pub refresh_seconds: Seconds = Seconds(3_600),
    }
}
