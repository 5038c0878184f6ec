//! The number of concurrent requests of a run: a fixed number, or as many as the origin can
//! handle without slowing down.

use std::time::Duration;

use tokio::time::Instant;

/// Limit at the start of an automatic run.
const START: f64 = 4.0;
/// Concurrent requests of any run, at most: each may hold a body of megabytes.
const MOST: u32 = 512;
/// The limit is cut at most once in this time, because open requests fail together.
const CUT_EVERY: Duration = Duration::from_secs(1);
/// Latency may double and rise by this much before it means that requests queue at the origin.
const SLACK: Duration = Duration::from_millis(25);

/// Additive increase, multiplicative decrease, on refusals (429, 503), failures and latency.
#[derive(Debug)]
pub struct Limiter {
    limit: f64,
    max: f64,
    adapts: bool,
    /// No sign of a queue yet: the limit grows by one for every answer.
    slow_start: bool,
    /// Smoothed latency, and the lowest latency so far, in seconds.
    smooth: Option<f64>,
    least: f64,
    last_cut: Option<Instant>,
}

impl Limiter {
    /// `fixed` concurrent requests (512 at most), or up to `max` as the origin allows.
    pub fn new(fixed: Option<u32>, max: u32) -> Self {
        let max = f64::from(max.max(1));
        Self {
            limit: fixed.map_or(START.min(max), |fixed| f64::from(fixed.clamp(1, MOST))),
            max,
            adapts: fixed.is_none(),
            slow_start: true,
            smooth: None,
            least: f64::MAX,
            last_cut: None,
        }
    }

    /// Sets the fixed number of concurrent requests.
    pub fn fix(&mut self, limit: u32) {
        self.adapts = false;
        self.limit = f64::from(limit.clamp(1, MOST));
    }

    /// The current limit of concurrent requests.
    pub fn limit(&self) -> usize {
        // At least 1 and at most a 32-bit number by construction.
        self.limit as usize
    }

    /// Records an answer whose first byte took this long.
    pub fn answered(&mut self, latency: Duration, now: Instant) {
        if !self.adapts {
            return;
        }
        let latency = latency.as_secs_f64();
        let smooth = self
            .smooth
            .map_or(latency, |old| old + (latency - old) / 8.0);
        self.smooth = Some(smooth);
        self.least = self.least.min(smooth);
        if smooth > self.least * 2.0 + SLACK.as_secs_f64() {
            self.slow_start = false;
            self.cut(0.9, now);
        } else if self.slow_start {
            self.limit += 1.0;
        } else {
            self.limit += 1.0 / self.limit;
        }
        self.limit = self.limit.min(self.max);
    }

    /// Records that the origin refused a request for now, or failed.
    pub fn overloaded(&mut self, now: Instant) {
        if self.adapts {
            self.slow_start = false;
            self.cut(0.5, now);
        }
    }

    fn cut(&mut self, factor: f64, now: Instant) {
        let due = self
            .last_cut
            .is_none_or(|last| now.duration_since(last) >= CUT_EVERY);
        if due {
            self.last_cut = Some(now);
            self.limit = (self.limit * factor).max(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(10);

    #[test]
    fn the_limit_follows_the_latency_of_the_origin() {
        let mut limiter = Limiter::new(None, 64);
        let mut now = Instant::now();
        for _ in 0..200 {
            limiter.answered(QUICK, now);
        }
        assert_eq!(limiter.limit(), 64);
        limiter.overloaded(now);
        limiter.overloaded(now);
        assert_eq!(limiter.limit(), 32);
        now += CUT_EVERY;
        for _ in 0..100 {
            limiter.answered(Duration::from_secs(1), now);
        }
        assert!(limiter.limit() < 32, "{limiter:?}");
        for _ in 0..100 {
            now += CUT_EVERY;
            limiter.overloaded(now);
        }
        assert_eq!(limiter.limit(), 1);
    }

    #[test]
    fn a_fixed_limit_does_not_change() {
        let mut limiter = Limiter::new(Some(7), 64);
        let now = Instant::now();
        limiter.overloaded(now);
        limiter.answered(QUICK, now);
        assert_eq!(limiter.limit(), 7);
    }
}
