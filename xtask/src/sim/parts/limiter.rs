//! Limits a worker's concurrent requests: the crawl's own rule, on simulated time.

#[path = "../../../../host/crawl/src/concurrency.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "origins of the simulation neither refuse nor fail"
)]
mod concurrency;

use std::time::{Duration, Instant};

/// Requests at once, of one worker.
#[derive(Debug)]
pub struct Limiter {
    rule: concurrency::Limiter,
    begun: Instant,
}

impl Limiter {
    /// Adapts to the answers: a few at first, `most` at most.
    pub fn adapting(most: u64) -> Self {
        Self {
            rule: concurrency::Limiter::new(None, whole(most)),
            begun: Instant::now(),
        }
    }

    /// Sets a fixed number.
    pub fn fix(&mut self, limit: u64) {
        self.rule.fix(whole(limit));
    }

    pub fn limit(&self) -> u64 {
        self.rule.limit() as u64
    }

    /// An answer took so long; both times in seconds.
    pub fn answered(&mut self, latency: f64, now: f64) {
        let now = self.begun + Duration::from_secs_f64(now);
        self.rule.answered(Duration::from_secs_f64(latency), now);
    }
}

fn whole(requests: u64) -> u32 {
    u32::try_from(requests).unwrap_or(u32::MAX)
}
