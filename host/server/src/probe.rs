//! How long the runtime keeps ready work waiting: the longest delay of a task that is due, as
//! the metric `orbweaver_runtime_longest_poll_seconds`.
//!
//! A task that computes or blocks instead of yielding holds up the others on its thread. With
//! free threads others are stolen from it, so one probe sees it once all threads are held up:
//! when clients do.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often the probe is due. The runtime's timers are exact to a millisecond.
const EVERY: Duration = Duration::from_millis(10);
/// How often the longest delay is told, and begun anew.
const WINDOW: Duration = Duration::from_secs(1);

/// Measures without end.
pub async fn run() {
    let gauge = metrics::gauge!("orbweaver_runtime_longest_poll_seconds");
    let most = metrics::histogram!("orbweaver_runtime_delay_seconds");
    loop {
        let longest = longest_delay(WINDOW).await;
        gauge.set(longest.as_secs_f64());
        most.record(longest.as_secs_f64());
    }
}

/// The longest delay within so much time.
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
    async fn work_that_does_not_yield_is_seen() {
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
