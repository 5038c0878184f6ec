//! The number of concurrent requests of a run: a fixed number, or as many as the origin can
//! handle without slowing down. `cargo xtask sim` compiles this file, too, so that it simulates the same rule:
//! it needs nothing but the standard library.

use std::time::{Duration, Instant};

/// Limit at the start of an automatic run.
const START: f64 = 4.0;
/// Concurrent requests of any run, at most: each may hold a body of megabytes.
const MAX_CONCURRENCY: u32 = 512;
/// The limit is cut at most once in this time, because open requests fail together.
const CUT_EVERY: Duration = Duration::from_secs(1);
/// Latency may double and rise by this much before it means that requests queue at the origin.
const SLACK: Duration = Duration::from_millis(25);
/// Age of the lowest latency from which on it is measured again before the limit is cut: pages that
/// are slower than those before look like a queue.
const OLD: Duration = Duration::from_secs(15);
/// Part of the limit that is used while it is measured.
const PROBED: f64 = 0.25;
/// Answers that latency is smoothed over, at least; two for each concurrent request where that is
/// more. Few answers of hosts or pages that differ say nothing of a queue.
const ANSWERS: f64 = 8.0;

/// A measurement of the lowest latency, with few requests.
#[derive(Debug)]
struct Probe {
    /// The limit afterwards.
    limit: f64,
    /// Answers to requests that were sent before, still to come.
    before: f64,
    /// Answers to measure, still to come, how many there are, and their latencies together.
    open: f64,
    answers: f64,
    seconds: f64,
}

/// Additive increase, multiplicative decrease, on refusals (429, 503), failures and latency.
#[derive(Debug)]
pub struct Limiter {
    limit: f64,
    max: f64,
    adapts: bool,
    /// No sign of a queue yet: the limit grows by one for every answer.
    slow_start: bool,
    answers: f64,
    /// Smoothed latency, and the lowest so far, in seconds.
    smooth: Option<f64>,
    least: f64,
    /// When it was that low.
    least_at: Option<Instant>,
    probe: Option<Probe>,
    last_cut: Option<Instant>,
}

impl Limiter {
    /// `fixed` concurrent requests (512 at most), or up to `max` as the origin allows.
    pub fn new(fixed: Option<u32>, max: u32) -> Self {
        let max = f64::from(max.max(1));
        Self {
            limit: fixed.map_or(START.min(max), |fixed| {
                f64::from(fixed.clamp(1, MAX_CONCURRENCY))
            }),
            max,
            adapts: fixed.is_none(),
            slow_start: true,
            answers: 0.0,
            smooth: None,
            least: f64::MAX,
            least_at: None,
            probe: None,
            last_cut: None,
        }
    }

    /// Sets the fixed number of concurrent requests.
    pub fn fix(&mut self, limit: u32) {
        self.adapts = false;
        self.limit = f64::from(limit.clamp(1, MAX_CONCURRENCY));
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
        self.answers += 1.0;
        let over = ANSWERS.max(2.0 * self.limit).min(self.answers);
        let smooth = self
            .smooth
            .map_or(latency, |old| old + (latency - old) / over);
        self.smooth = Some(smooth);
        if self.probe.is_some() {
            return self.measure(latency, now);
        }
        if self.answers >= ANSWERS && smooth <= self.least {
            self.least = smooth;
            self.least_at = Some(now);
        }
        if smooth > self.least * 2.0 + SLACK.as_secs_f64() {
            self.slow_start = false;
            let least_at = self.least_at.get_or_insert(now);
            if now.saturating_duration_since(*least_at) >= OLD {
                self.begin_probe();
            } else {
                self.cut(0.9, now);
            }
        } else if self.slow_start {
            self.limit += 1.0;
        } else {
            self.limit += 1.0 / self.limit;
        }
        self.limit = self.limit.min(self.max);
    }

    fn begin_probe(&mut self) {
        let answers = ANSWERS.max(self.limit * PROBED);
        self.probe = Some(Probe {
            limit: self.limit,
            before: self.limit,
            open: answers,
            answers,
            seconds: 0.0,
        });
        self.limit = (self.limit * PROBED).max(1.0);
    }

    fn measure(&mut self, latency: f64, now: Instant) {
        let Some(probe) = &mut self.probe else {
            return;
        };
        if probe.before >= 1.0 {
            probe.before -= 1.0;
            return;
        }
        probe.open -= 1.0;
        probe.seconds += latency;
        if probe.open < 1.0 {
            self.least = probe.seconds / probe.answers;
            self.least_at = Some(now);
            self.smooth = Some(self.least);
            self.limit = probe.limit;
            self.probe = None;
        }
    }

    /// Records that a host refused a request for now, or failed; with how many hosts the run has
    /// requests for. That one of many cannot take more says little of the others.
    pub fn overloaded(&mut self, hosts: usize, now: Instant) {
        if self.adapts {
            self.slow_start = false;
            if let Some(probe) = self.probe.take() {
                self.limit = probe.limit;
            }
            self.cut(1.0 - 0.5 / hosts.max(1) as f64, now);
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
        limiter.overloaded(1, now);
        limiter.overloaded(1, now);
        assert_eq!(limiter.limit(), 32);
        now += CUT_EVERY;
        for _ in 0..100 {
            limiter.answered(Duration::from_secs(1), now);
        }
        assert!(limiter.limit() < 32, "{limiter:?}");
        for _ in 0..100 {
            now += CUT_EVERY;
            limiter.overloaded(1, now);
        }
        assert_eq!(limiter.limit(), 1);
    }

    /// Answers of a crawl at its limit: each takes `latency` of the number of requests at once. The
    /// limit at the end of each second.
    fn crawl(seconds: u32, mut latency: impl FnMut(f64) -> f64) -> Vec<usize> {
        let mut limiter = Limiter::new(None, 64);
        let begun = Instant::now();
        let (mut now, mut limits) = (0.0, Vec::new());
        while limits.len() < seconds as usize {
            let taken = latency(limiter.limit as u32 as f64);
            now += taken / limiter.limit;
            let at = begun + Duration::from_secs_f64(now);
            limiter.answered(Duration::from_secs_f64(taken), at);
            while limits.len() < now as usize {
                limits.push(limiter.limit());
            }
        }
        limits
    }

    /// Numbers that look random, between 0 and 1.
    fn noise() -> impl FnMut() -> f64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        }
    }

    #[test]
    fn hosts_and_pages_that_differ_are_no_queue() {
        let mut next = noise();
        // Between 0.05 and 3.2 seconds, whatever the number of requests.
        let limits = crawl(240, |_| 0.05 * (next() * 6.0).exp2());
        let late: Vec<usize> = limits.into_iter().skip(60).collect();
        let mean = late.iter().sum::<usize>() as f64 / late.len() as f64;
        assert!(mean > 40.0, "{mean}: {late:?}");
    }

    #[test]
    fn pages_that_are_slower_than_those_before_are_no_queue_for_ever() {
        let mut answers = 0;
        let limits = crawl(120, |_| {
            answers += 1;
            if answers < 500 { 0.05 } else { 0.3 }
        });
        assert!(
            limits.iter().skip(90).all(|limit| *limit > 40),
            "{limits:?}"
        );
    }

    #[test]
    fn requests_do_not_queue_at_an_origin_for_long() {
        // It answers eight at a time.
        let limits = crawl(120, |requests| 0.1 * (requests / 8.0).max(1.0));
        let late = limits.iter().skip(10);
        assert!(
            late.clone().all(|limit| (4..=32).contains(limit)),
            "{limits:?}"
        );
        let mean = late.clone().sum::<usize>() as f64 / late.count() as f64;
        assert!(mean < 24.0, "{mean}: {limits:?}");
    }

    #[test]
    fn one_dead_host_of_many_does_not_stop_the_others() {
        let mut limiter = Limiter::new(None, 64);
        let mut now = Instant::now();
        for _ in 0..60 {
            for _ in 0..200 {
                limiter.answered(QUICK, now);
            }
            limiter.overloaded(100, now);
            now += CUT_EVERY;
        }
        assert!(limiter.limit() > 60, "{limiter:?}");
    }

    #[test]
    fn a_fixed_limit_does_not_change() {
        let mut limiter = Limiter::new(Some(7), 64);
        let now = Instant::now();
        limiter.overloaded(1, now);
        limiter.answered(QUICK, now);
        assert_eq!(limiter.limit(), 7);
    }
}
