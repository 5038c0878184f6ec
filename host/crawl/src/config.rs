//! `[crawl]`, `[webhooks]` and `[retention]`.

use orbweaver_core::setting::{InvalidSetting, numbers};
use serde::{Deserialize, Serialize};

/// `[crawl]`: how runs are worked on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct CrawlConfig {
    pub runs: usize,
    pub max_age_seconds: u64,
    pub lease_ms: u64,
    pub max_concurrency: u32,
    pub retries: u32,
    pub retry_base_ms: u64,
    pub max_wait_ms: u64,
    pub template_budget: u32,
    pub drop_tracking: bool,
}

impl Default for CrawlConfig {
    fn default() -> Self {
        Self {
            runs: 64,
            max_age_seconds: 7 * 24 * 3_600,
            lease_ms: 10_000,
            max_concurrency: 64,
            retries: 3,
            retry_base_ms: 500,
            max_wait_ms: 120_000,
            template_budget: 5_000,
            drop_tracking: true,
        }
    }
}

impl CrawlConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.lease_ms >= 1_000,
            "crawl.lease_ms",
            "must be at least 1000",
        )?;
        InvalidSetting::unless(
            self.max_age_seconds > 0,
            "crawl.max_age_seconds",
            "must be at least 1",
        )
    }
}

/// `[webhooks]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct WebhooksConfig {
    #[serde(deserialize_with = "numbers")]
    pub retry_delays: Vec<u32>,
    pub max_retry_after: u32,
    pub timeout_ms: u64,
    pub concurrent: usize,
    pub concurrent_per_target: usize,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        Self {
            retry_delays: vec![1, 2, 4, 8],
            max_retry_after: 3_600,
            timeout_ms: 10_000,
            concurrent: 256,
            concurrent_per_target: 8,
        }
    }
}

impl WebhooksConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.concurrent > 0,
            "webhooks.concurrent",
            "must be at least 1",
        )?;
        InvalidSetting::unless(
            self.concurrent_per_target > 0,
            "webhooks.concurrent_per_target",
            "must be at least 1",
        )?;
        InvalidSetting::unless(
            (1..=60_000).contains(&self.timeout_ms),
            "webhooks.timeout_ms",
            "must be between 1 and 60000",
        )?;
        InvalidSetting::unless(
            self.retry_delays.len() <= 100,
            "webhooks.retry_delays",
            "must be at most 100 waits",
        )
    }
}

/// `[retention]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct RetentionConfig {
    pub scans_days: u32,
    pub request_log_days: u32,
    pub runs_days: u32,
    pub project_mib: u64,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            scans_days: 30,
            request_log_days: 30,
            runs_days: 90,
            project_mib: 0,
        }
    }
}
