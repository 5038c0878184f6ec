//! `[crawl]`, `[webhooks]` and `[retention]`.

use orbweaver_core::setting::{InvalidSetting, Millis, Seconds, seconds};
use orbweaver_core::settings;

settings! {
    /// `[crawl]`: how runs are executed.
    pub struct CrawlConfig {
        /// Crawl runs of this process at the same time; further runs wait, or go to other nodes.
        /// Projects take turns, and one project gets at most three quarters of them.
        pub runs: usize = 64,
        /// Maximum number of other nodes that help with one run over many hosts, on PostgreSQL;
        /// 0: each run stays on one node. A host is crawled by one node at a time.
        pub parts: usize = 15,
        /// Number of hosts with waiting URLs from which on a run asks other nodes for help.
        pub part_hosts: usize = 16,
        /// Maximum age of a run, in seconds (7 days): it then ends with the pages it has. A tier's
        /// max_run_seconds may be lower.
        pub max_age_seconds: u64 = 7 * 24 * 3_600,
        /// Time without a heartbeat after which another worker takes a run over, in milliseconds
        /// (1000 to 86400000).
        pub lease_ms: Millis = Millis(10_000),
        /// Maximum number of concurrent requests of a run that sets no concurrency. It starts
        /// with a few and adapts to the origin.
        pub max_concurrency: u32 = 64,
        /// Retries of a page or a sitemap after a transient failure: no answer, 429, 502, 503 or 504.
        pub retries: u32 = 3,
        /// Wait before the first retry, in milliseconds; it doubles with each further retry.
        pub retry_base_ms: Millis = Millis(500),
        /// Longest Retry-After and Crawl-delay that are honoured, in milliseconds.
        pub max_wait_ms: Millis = Millis(120_000),
        /// Maximum number of linked URLs of one run that differ only in numbers or parameter values,
        /// if the URL has a query or a date. Prevents endless calendars from filling a run.
        pub template_budget: u32 = 5_000,
        /// Whether URLs that differ only in session identifiers and tracking parameters count
        /// as one page.
        pub drop_tracking: bool = true,
    }
}

impl CrawlConfig {
    /// Checks the rules that the types do not enforce.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(self.runs > 0, "crawl.runs", "must be at least 1")?;
        InvalidSetting::unless(
            (1_000..=86_400_000).contains(&self.lease_ms.0),
            "crawl.lease_ms",
            "must be between 1000 and 86400000",
        )?;
        InvalidSetting::unless(
            self.max_age_seconds > 0,
            "crawl.max_age_seconds",
            "must be at least 1",
        )
    }
}

settings! {
    /// `[webhooks]`.
    pub struct WebhooksConfig {
        /// Seconds to wait before the second attempt at a webhook delivery, before the third,
        /// and so on; there is one more attempt than there are waits. For attempts over 24 hours:
        /// `[60, 300, 900, 3600, 7200, 14400, 21600, 36000]`.
        #[serde(deserialize_with = "seconds")]
        pub retry_delays: Vec<Seconds> = [1, 2, 4, 8].map(Seconds).to_vec(),
        /// Longest Retry-After of a receiver that is honoured, in seconds.
        pub max_retry_after: Seconds = Seconds(3_600),
        /// Time limit of one attempt, in milliseconds.
        pub timeout_ms: Millis = Millis(10_000),
        /// Maximum number of concurrent webhook deliveries of this process.
        pub concurrent: usize = 256,
        /// Maximum number of concurrent deliveries to the same scheme, host and port.
        pub concurrent_per_target: usize = 8,
    }
}

impl WebhooksConfig {
    /// Checks the rules that the types do not enforce.
    ///
    /// # Errors
    /// The first invalid setting.
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
            (1..=60_000).contains(&self.timeout_ms.0),
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

settings! {
    /// `[retention]`.
    pub struct RetentionConfig {
        /// Days that scanned pages are kept for use with `max_age_seconds`.
        pub scans_days: u32 = 30,
        /// Days that the entries of GET /v1/logs are kept.
        pub request_log_days: u32 = 30,
        /// Days that lines logged by plugins and their failed calls are kept.
        pub plugin_records_days: u32 = 14,
        /// Days that a crawl run and its pages are kept after its end; 0 means until deleted. A run that
        /// a monitor's next run is compared with is kept for longer.
        pub runs_days: u32 = 90,
        /// Maximum size of one project's stored bodies, in MiB: beyond it, the oldest ended
        /// runs are removed, then the oldest scanned pages, and last the runs that monitors are
        /// compared with; 0 means no limit.
        pub project_mib: u64 = 0,
    }
}
