//! Measures how long the runtime delays a ready task: the longest delay, as the metric
//! `orbweaver_runtime_longest_poll_seconds`.
//!
//! A task that computes or blocks instead of yielding delays the others on its thread. While other
//! threads are free, they steal the waiting tasks, so a single probe notices only when all threads
//! are blocked, which is also when clients notice.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Interval of the probe. The runtime's timers are accurate to a millisecond.
const EVERY: Duration = Duration::from_millis(10);
/// Interval at which the longest delay is reported and reset.
const WINDOW: Duration = Duration::from_secs(1);

/// Measures as long as the process runs.
pub async fn run() {
    let gauge = metrics::gauge!("orbweaver_runtime_longest_poll_seconds");
    let most = metrics::histogram!("orbweaver_runtime_delay_seconds");
    loop {
        let longest = longest_delay(WINDOW).await;
        gauge.set(longest.as_secs_f64());
        most.record(longest.as_secs_f64());
    }
}

/// The longest delay within a time window.
async fn longest_delay(window: Duration) -> Duration {
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    while began.elapsed() < window {
        let due = Instant::now() + EVERY;
        sleep(EVERY).await;
        longest = longest.max(Instant::now().saturating_duration_since(due));
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_does_not_yield_is_measured() {
        let blocked = Duration::from_millis(80);
        let hog = tokio::spawn(async move {
            sleep(Duration::from_millis(15)).await;
            std::thread::sleep(blocked);
        });
        let longest = longest_delay(Duration::from_millis(200)).await;
        hog.await.unwrap();
        assert!(longest >= Duration::from_millis(60), "{longest:?}");
    }
}
