//! `[scan]`, `[blocklist]`, and `[cloud]`: backends beyond this host, and what they cost.

use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::setting::{InvalidSetting, Millis, Seconds, list};
use orbweaver_core::settings;
use orbweaver_fetch::ProxyPool;

settings! {
    /// `[cloud]`: backends beyond this host.
    pub struct CloudConfig {
        /// Base URL of an upstream provider that fetches, unblocks and searches. It must pass the
        /// SSRF guard: if its network is private, add it to `allow_nets`.
        pub vendor_url: Option<SafeUrl>,
        /// The provider's API key.
        pub vendor_key: Option<Secret>,
        /// Longest wait for the provider's answer, in milliseconds.
        pub vendor_timeout_ms: Millis = Millis(90_000),
        /// Base URL of a SearXNG instance (with JSON output enabled) used by /v1/cloud/search.
        /// If unset: the provider, else Brave, else the project's own stored pages.
        pub searxng_url: Option<SafeUrl>,
        /// Subscription token of the Brave Search API, used for web search.
        pub brave_key: Option<Secret>,
        /// Base URL of the Brave Search API.
        pub brave_url: SafeUrl = SafeUrl::new("https://api.search.brave.com"),
        /// `[cloud.llm]`.
        #[section]
        pub llm: LlmConfig,
        /// `[cloud.prices]`.
        #[section]
        pub prices: Prices,
    }
}

settings! {
    /// `[cloud.llm]`: the language model of `extract.prompt`.
    #[derive(PartialEq)]
    pub struct LlmConfig {
        /// Base URL of an endpoint that is compatible with OpenAI's chat completions, such as
        /// https://api.openai.com/v1. It must pass the SSRF guard: if its network is private, add
        /// it to `allow_nets`. Pages' texts are sent there.
        pub url: Option<SafeUrl>,
        /// The endpoint's API key, if it needs one.
        pub key: Option<Secret>,
        /// Name of the model.
        pub model: Option<String>,
        /// Longest wait for an answer, in milliseconds.
        pub timeout_ms: Millis = Millis(60_000),
        /// Most bytes of a page's text that are sent; the rest is left out.
        pub max_text_bytes: usize = 60_000,
        /// Most tokens of an answer; by default the model's own limit.
        pub max_tokens: Option<u32>,
        /// Most questions at once in this process; further ones wait, and projects take turns.
        pub concurrent: usize = 8,
        /// Most questions of one project that wait; further ones fail.
        pub queue_per_project: usize = 100,
        /// US dollars per 10^6 tokens of questions.
        pub input_price: f64 = 0.0,
        /// US dollars per 10^6 tokens of answers.
        pub output_price: f64 = 0.0,
    }
}

settings! {
    /// `[cloud.prices]`, in US dollars.
    #[derive(Copy, PartialEq)]
    pub struct Prices {
        /// US dollars per page of the provider, if its answer names no cost.
        pub vendor_page: f64 = 0.001,
        /// US dollars per search at the provider, if its answer names no cost.
        pub vendor_search: f64 = 0.005,
        /// US dollars per search at Brave.
        pub brave_search: f64 = 0.005,
        /// US dollars per 10^9 bytes through the datacenter pool.
        pub datacenter_gb: f64 = 0.5,
        /// US dollars per 10^9 bytes through the isp pool.
        pub isp_gb: f64 = 2.0,
        /// US dollars per 10^9 bytes through the residential pool.
        pub residential_gb: f64 = 5.0,
        /// US dollars per 10^9 bytes through the mobile pool.
        pub mobile_gb: f64 = 8.0,
    }
}

impl Prices {
    /// US dollars per 10^9 bytes through a pool.
    pub const fn gigabyte(&self, pool: ProxyPool) -> f64 {
        match pool {
            ProxyPool::Datacenter => self.datacenter_gb,
            ProxyPool::Isp => self.isp_gb,
            ProxyPool::Residential => self.residential_gb,
            ProxyPool::Mobile => self.mobile_gb,
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
    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.vendor_url.is_some() == self.vendor_key.is_some(),
            "cloud.vendor_url",
            "vendor_url and vendor_key must be set together",
        )?;
        InvalidSetting::unless(
            self.llm.url.is_some() == self.llm.model.is_some(),
            "cloud.llm.url",
            "url and model must be set together",
        )?;
        let prices = [self.llm.input_price, self.llm.output_price];
        InvalidSetting::unless(
            prices
                .iter()
                .all(|price| price.is_finite() && *price >= 0.0),
            "cloud.llm",
            "prices must be numbers, 0 or more",
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
        /// Additional extractors that run for every scanned page; their output is under
        /// `extensions`.
        #[serde(deserialize_with = "list")]
        pub extractors: Vec<String>,
        /// Memory for the cache of extractor results and answers of stored pages, in MiB; 0: none.
        pub result_cache_mib: u64 = 64,
        /// Most scans at once in this process; further ones wait, and projects take turns. One
        /// project gets at most three quarters.
        pub concurrent: usize = 256,
        /// Most waiting scans of one project; further ones are answered 429.
        pub queue_per_project: usize = 1_000,
    }
}

impl ScanConfig {
    /// Checks the rules that the types do not express.
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
        /// Lists of malicious domains: files, which are watched, or http(s) URLs. Formats: hosts
        /// files, and one name per line; a name includes its subdomains. Listed hosts are never
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
