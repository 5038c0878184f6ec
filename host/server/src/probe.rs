//! Measures how long the runtime delays a ready task: the longest delay, as the metric
//! `orbweaver_runtime_longest_poll_seconds`.
//!
//! A task that computes or blocks instead of yielding delays the others on its thread. While other
//! threads are free, they steal the waiting tasks, so a single probe notices only when all threads
//! are blocked, which is also when clients notice.
//!
//! The probe itself costs something, so it runs seldom while the threads have nothing to do. A
//! delay that begins then makes the next probe late, so it is still measured.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::time::{Instant, sleep};

/// Interval of the probe. The runtime's timers are accurate to a millisecond.
const EVERY: Duration = Duration::from_millis(10);
/// Interval at which the longest delay is reported and reset, and interval of the probe while the
/// runtime is idle.
const WINDOW: Duration = Duration::from_secs(1);
/// The runtime rests when its threads together worked for less than this of a window.
const IDLE_BELOW: Duration = Duration::from_millis(20);

/// Measures as long as the process runs.
pub async fn run() {
    let gauge = metrics::gauge!("orbweaver_runtime_longest_poll_seconds");
    let most = metrics::histogram!("orbweaver_runtime_delay_seconds");
    let runtime = Handle::current().metrics();
    let mut worked = busy(&runtime);
    let mut every = EVERY;
    loop {
        let longest = longest_delay(WINDOW, every).await;
        gauge.set(longest.as_secs_f64());
        most.record(longest.as_secs_f64());
        let now = busy(&runtime);
        let rests = now.saturating_sub(worked) < IDLE_BELOW && longest < EVERY;
        every = if rests { WINDOW } else { EVERY };
        worked = now;
    }
}

/// How long the runtime's threads have worked so far, together.
fn busy(runtime: &RuntimeMetrics) -> Duration {
    (0..runtime.num_workers())
        .map(|worker| runtime.worker_total_busy_duration(worker))
        .sum()
}

/// The longest delay within so much time, of a probe that is due so often.
async fn longest_delay(window: Duration, every: Duration) -> Duration {
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    while began.elapsed() < window {
        let due = Instant::now() + every;
        sleep(every).await;
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
        let longest = longest_delay(Duration::from_millis(200), EVERY).await;
        hog.await.unwrap();
        assert!(longest >= Duration::from_millis(60), "{longest:?}");
    }

    #[tokio::test]
    async fn a_probe_that_looks_seldom_sees_it_when_it_is_due() {
        let hog = tokio::spawn(async {
            sleep(Duration::from_millis(80)).await;
            std::thread::sleep(Duration::from_millis(100));
        });
        let every = Duration::from_millis(100);
        let longest = longest_delay(every, every).await;
        hog.await.unwrap();
        assert!(longest >= Duration::from_millis(60), "{longest:?}");
    }
}
