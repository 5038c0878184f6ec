//! Whether a client takes what is sent to it fast enough.

use std::time::Duration;

use tokio::time::Instant;

/// How far a client is behind the rate at which it has to take bytes. Only the time counts in which
/// bytes wait for it, and being ahead is no credit.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Since when bytes wait.
    waiting_since: Option<Instant>,
    /// How much longer than it may have, the client has needed so far.
    behind: Duration,
}

impl Pace {
    /// Bytes wait from now on, if they do not already.
    pub(super) fn waits(&mut self, now: Instant) {
        self.waiting_since.get_or_insert(now);
    }

    /// The client took so many bytes; `rate` is how many it has to take in a second, 0 where any number
    /// will do.
    pub(super) fn took(&mut self, now: Instant, bytes: u64, rate: u64) {
        let Some(allowed) = bytes.saturating_mul(1_000).checked_div(rate) else {
            *self = Self::default();
            return;
        };
        let waited = self.waiting_since.take();
        let waited = waited.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.behind = (self.behind + waited).saturating_sub(Duration::from_millis(allowed));
    }

    /// When the client will be behind by `patience`, if it takes nothing until then; `None` while nothing
    /// waits for it.
    pub(super) fn runs_out(&self, patience: Duration) -> Option<Instant> {
        let since = self.waiting_since?;
        Some(since + patience.saturating_sub(self.behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    const RATE: u64 = 1_000;

    /// The second in which a client that takes `bytes` after each second of waiting runs out of time, if
    /// it does within `seconds`.
    fn runs_out(bytes: u64, rate: u64, seconds: u64) -> Option<u64> {
        let (mut pace, began) = (Pace::default(), Instant::now());
        for second in 1..=seconds {
            let now = began + Duration::from_secs(second);
            pace.waits(now - Duration::from_secs(1));
            if pace.runs_out(PATIENCE)? <= now {
                return Some(second);
            }
            pace.took(now, bytes, rate);
        }
        None
    }

    #[test]
    fn a_client_below_the_rate_runs_out_of_time_and_no_other() {
        assert_eq!(runs_out(1_000, RATE, 10_000), None);
        assert_eq!(runs_out(1, RATE, 10_000), Some(61));
        assert_eq!(runs_out(500, RATE, 10_000), Some(119));
        assert_eq!(runs_out(1, 0, 10_000), None, "any byte will do");
    }

    #[test]
    fn time_in_which_nothing_waits_does_not_count() {
        let (mut pace, began) = (Pace::default(), Instant::now());
        assert_eq!(pace.runs_out(PATIENCE), None);
        pace.waits(began);
        pace.waits(began + PATIENCE / 2);
        assert_eq!(pace.runs_out(PATIENCE), Some(began + PATIENCE));
        pace.took(began, 1, RATE);
        assert_eq!(pace.runs_out(PATIENCE), None);
    }

    #[test]
    fn a_head_start_is_no_credit() {
        let (mut pace, began) = (Pace::default(), Instant::now());
        pace.took(began, 1 << 40, RATE);
        pace.waits(began);
        assert_eq!(pace.runs_out(PATIENCE), Some(began + PATIENCE));
    }
}
