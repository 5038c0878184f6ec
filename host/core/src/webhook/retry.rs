//! The retry schedule of deliveries.

use std::time::Duration;

/// Largest random addition to a delay, as a fraction of it, so that deliveries that failed
/// together are not retried together.
const JITTER: f64 = 0.1;

/// The result of a delivery attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Delivered.
    Delivered,
    /// Refused permanently, by the receiver or by the guard.
    Refused,
    /// Failed temporarily; the receiver may have asked for a delay.
    Failed {
        /// The response's Retry-After.
        retry_after: Option<Duration>,
    },
}

impl Verdict {
    /// For a response: 2xx is delivered, 5xx may be retried, everything else is refused. A
    /// redirect is refused too, because following it would give the body to another receiver.
    pub fn of_status(status: u16, retry_after: Option<Duration>) -> Self {
        match status {
            200..=299 => Self::Delivered,
            500..=599 => Self::Failed { retry_after },
            _ => Self::Refused,
        }
    }
}

/// The next step after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it was delivered.
    Done,
    /// Nothing: it was refused permanently, or this was the last attempt.
    Dead,
    /// Try again after this delay.
    Retry(Duration),
}

/// The schedule of attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Delays before the second attempt, the third, and so on; there is one more attempt than
    /// delays.
    pub delays: Vec<Duration>,
    /// Longest delay that a receiver may ask for.
    pub max_retry_after: Duration,
}

impl RetryPolicy {
    /// The step after attempt number `attempt` (from 1). `chance` is a random number from 0 to 1.
    pub fn next(&self, attempt: u32, verdict: Verdict, chance: f64) -> Next {
        let retry_after = match verdict {
            Verdict::Delivered => return Next::Done,
            Verdict::Refused => return Next::Dead,
            Verdict::Failed { retry_after } => retry_after,
        };
        let index = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(delay) = self.delays.get(index) else {
            return Next::Dead;
        };
        // A receiver may lengthen the scheduled delay, not shorten it.
        let asked = retry_after.unwrap_or_default().min(self.max_retry_after);
        let factor = 1.0 + JITTER * chance.clamp(0.0, 1.0);
        Next::Retry(asked.max(*delay).mul_f64(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Verdict = Verdict::Failed { retry_after: None };

    fn policy() -> RetryPolicy {
        RetryPolicy {
            delays: [1, 2, 4, 8].map(Duration::from_secs).to_vec(),
            max_retry_after: Duration::from_secs(3_600),
        }
    }

    fn asks(seconds: u64) -> Verdict {
        Verdict::of_status(503, Some(Duration::from_secs(seconds)))
    }

    #[test]
    fn five_attempts_with_doubling_waits() {
        let waits: Vec<Next> = (1..=6).map(|n| policy().next(n, FAILED, 0.0)).collect();
        let retry = |seconds| Next::Retry(Duration::from_secs(seconds));
        assert_eq!(
            waits,
            [
                retry(1),
                retry(2),
                retry(4),
                retry(8),
                Next::Dead,
                Next::Dead
            ]
        );
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        let wait = |chance| policy().next(4, FAILED, chance);
        assert_eq!(wait(0.5), Next::Retry(Duration::from_millis(8_400)));
        assert_eq!(wait(1.0), Next::Retry(Duration::from_millis(8_800)));
        assert_eq!(wait(7.0), wait(1.0));
        assert_eq!(wait(-1.0), wait(0.0));
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_within_bounds() {
        let wait = |verdict| policy().next(1, verdict, 0.0);
        assert_eq!(wait(asks(30)), Next::Retry(Duration::from_secs(30)));
        assert_eq!(wait(asks(0)), Next::Retry(Duration::from_secs(1)));
        assert_eq!(wait(asks(86_400)), Next::Retry(Duration::from_secs(3_600)));
        // Retry-After counts only with failures.
        let patient = Some(Duration::from_secs(5));
        assert_eq!(wait(Verdict::of_status(429, patient)), Next::Dead);
    }

    #[test]
    fn a_status_decides() {
        for (status, next) in [
            (200, Next::Done),
            (204, Next::Done),
            (299, Next::Done),
            (301, Next::Dead),
            (304, Next::Dead),
            (307, Next::Dead),
            (404, Next::Dead),
            (410, Next::Dead),
            (429, Next::Dead),
            (500, Next::Retry(Duration::from_secs(1))),
            (599, Next::Retry(Duration::from_secs(1))),
            (600, Next::Dead),
            (199, Next::Dead),
        ] {
            let verdict = Verdict::of_status(status, None);
            assert_eq!(policy().next(1, verdict, 0.0), next, "{status}");
        }
    }
}
