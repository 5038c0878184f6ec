//! `[crawl]`.

use serde::{Deserialize, Serialize};

/// `[crawl]`: how runs are worked on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct CrawlConfig {
    pub runs: usize,
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
