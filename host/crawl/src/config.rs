//! `[crawl]`, `[webhooks]` and `[retention]`.

use orbweaver_core::setting::{InvalidSetting, Millis, Seconds, seconds};
use orbweaver_core::settings;

settings! {
    /// `[crawl]`: how runs are worked on.
    pub struct CrawlConfig {
        /// Crawl runs that this process works on at once; more wait, or go to other nodes.
        /// Projects take turns, and one has three quarters of them at most.
        pub runs: usize = 64,
        /// Time after its start at which a run ends with the pages it has, in seconds (7 days);
        /// a tier's max_run_seconds may be less.
        pub max_age_seconds: u64 = 7 * 24 * 3_600,
        /// Time without a sign of life after which another worker takes a run over, in
        /// milliseconds (at least 1000).
        pub lease_ms: Millis = Millis(10_000),
        /// Requests at once of a run that names no concurrency; it starts with few and adapts to
        /// the origin.
        pub max_concurrency: u32 = 64,
        /// Further tries of a page after a transient failure: no answer, 429, 502, 503 or 504.
        pub retries: u32 = 3,
        /// Wait before the first further try, in milliseconds; each next one is twice as long.
        pub retry_base_ms: Millis = Millis(500),
        /// Longest Retry-After and Crawl-delay that are honoured, in milliseconds.
        pub max_wait_ms: Millis = Millis(120_000),
        /// URLs of one run that differ only in numbers or parameters' values, where the URL has a
        /// query or a date: keeps endless calendars and filters from filling a run.
        pub template_budget: u32 = 5_000,
        /// Whether URLs that differ only in session identifiers and tracking parameters are one
        /// page.
        pub drop_tracking: bool = true,
    }
}

impl CrawlConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.lease_ms >= Millis(1_000),
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

settings! {
    /// `[webhooks]`.
    pub struct WebhooksConfig {
        /// Seconds to wait before the second attempt at a webhook delivery, the third and so on;
        /// one attempt more than there are waits. For attempts over 24 hours:
        /// `[60, 300, 900, 3600, 7200, 14400, 21600, 36000]`.
        #[serde(deserialize_with = "seconds")]
        pub retry_delays: Vec<Seconds> = [1, 2, 4, 8].map(Seconds).to_vec(),
        /// Longest wait that a receiver's Retry-After may ask for, in seconds.
        pub max_retry_after: Seconds = Seconds(3_600),
        /// Longest time of one attempt, in milliseconds.
        pub timeout_ms: Millis = Millis(10_000),
        /// Webhook deliveries at once in this process.
        pub concurrent: usize = 256,
        /// Of these, deliveries at once to one scheme, host and port.
        pub concurrent_per_target: usize = 8,
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
        /// Days that scanned pages are kept for `max_age_seconds`.
        pub scans_days: u32 = 30,
        /// Days that GET /v1/logs goes back.
        pub request_log_days: u32 = 30,
        /// Days that a crawl run and its pages are kept after its end; 0: until deleted.
        pub runs_days: u32 = 90,
        /// Stored bodies of one project, in MiB, above which its oldest ended runs are removed,
        /// then its oldest scanned pages; 0: no bound.
        pub project_mib: u64 = 0,
    }
}
