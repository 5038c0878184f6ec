//! `[scan]`, `[blocklist]`, and `[cloud]`: backends beyond this host, and what they cost.

use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::setting::{InvalidSetting, list};
use orbweaver_fetch::Pool;
use serde::{Deserialize, Serialize};

/// `[cloud]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct CloudConfig {
    pub vendor_url: Option<SafeUrl>,
    pub vendor_key: Option<Secret>,
    pub vendor_timeout_ms: u64,
    pub searxng_url: Option<SafeUrl>,
    pub brave_key: Option<Secret>,
    pub brave_url: SafeUrl,
    pub prices: Prices,
}

/// `[cloud.prices]`, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct Prices {
    pub vendor_page: f64,
    pub vendor_search: f64,
    pub brave_search: f64,
    pub datacenter_gb: f64,
    pub isp_gb: f64,
    pub residential_gb: f64,
    pub mobile_gb: f64,
}

impl Default for CloudConfig {
    fn default() -> Self {
        Self {
            vendor_url: None,
            vendor_key: None,
            vendor_timeout_ms: 90_000,
            searxng_url: None,
            brave_key: None,
            brave_url: SafeUrl::new("https://api.search.brave.com"),
            prices: Prices::default(),
        }
    }
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            vendor_page: 0.001,
            vendor_search: 0.005,
            brave_search: 0.005,
            datacenter_gb: 0.5,
            isp_gb: 2.0,
            residential_gb: 5.0,
            mobile_gb: 8.0,
        }
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

    /// Prices that are no numbers, or below nothing.
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

/// `[scan]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct ScanConfig {
    #[serde(deserialize_with = "list")]
    pub extractors: Vec<String>,
    pub result_cache_mib: u64,
    pub concurrent: usize,
    pub queue_per_project: usize,
}

impl Default for ScanConfig {
    fn default() -> Self {
        Self {
            extractors: Vec::new(),
            result_cache_mib: 64,
            concurrent: 256,
            queue_per_project: 1_000,
        }
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

/// `[blocklist]`: malicious domains.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct BlocklistConfig {
    #[serde(deserialize_with = "list")]
    pub sources: Vec<String>,
    pub refresh_seconds: u64,
}

impl Default for BlocklistConfig {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            refresh_seconds: 3_600,
        }
    }
}
