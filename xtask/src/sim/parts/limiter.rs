//! How many requests a worker sends at once (`host/crawl/src/concurrency.rs`).

/// Limit at the start.
const START: f64 = 4.0;
/// The limit is cut at most once in this time, in seconds.
const CUT_EVERY: f64 = 1.0;
/// Latency may double and rise by this much before the limit is cut, in seconds.
const SLACK: f64 = 0.025;

/// Requests at once, of one worker.
#[derive(Debug)]
pub struct Limiter {
    limit: f64,
    most: f64,
    adapts: bool,
    slow_start: bool,
    smooth: Option<f64>,
    least: f64,
    last_cut: f64,
}

impl Limiter {
    /// Adapts to the answers: a few at first, `most` at most.
    pub fn adapting(most: u64) -> Self {
        let most = most.max(1) as f64;
        Self {
            limit: START.min(most),
            most,
            adapts: true,
            slow_start: true,
            smooth: None,
            least: f64::MAX,
            last_cut: f64::MIN,
        }
    }

    /// Sets a fixed number.
    pub fn fix(&mut self, limit: u64) {
        self.adapts = false;
        self.limit = limit.max(1) as f64;
    }

    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// An answer took so long. What is slow is taken for a queue at the origin, even if answers of
    /// other hosts are quick.
    pub fn answered(&mut self, latency: f64, now: f64) {
        if !self.adapts {
            return;
        }
        let smooth = self
            .smooth
            .map_or(latency, |old| old + (latency - old) / 8.0);
        self.smooth = Some(smooth);
        self.least = self.least.min(smooth);
        if smooth > self.least * 2.0 + SLACK {
            self.slow_start = false;
            if now - self.last_cut >= CUT_EVERY {
                self.last_cut = now;
                self.limit = (self.limit * 0.9).max(1.0);
            }
        } else if self.slow_start {
            self.limit += 1.0;
        } else {
            self.limit += 1.0 / self.limit;
        }
        self.limit = self.limit.min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_even_answers_and_is_cut_when_they_slow_down() {
        let mut limiter = Limiter::adapting(64);
        assert_eq!(limiter.limit(), 4);
        for _ in 0..60 {
            limiter.answered(0.1, 0.0);
        }
        assert_eq!(limiter.limit(), 64);
        for second in 0..20 {
            for _ in 0..10 {
                limiter.answered(1.0, f64::from(second));
            }
        }
        // Twenty cuts by a tenth, at most.
        assert!((7..=9).contains(&limiter.limit()), "{limiter:?}");
        limiter.fix(30);
        limiter.answered(9.0, 99.0);
        assert_eq!(limiter.limit(), 30);
    }
}
