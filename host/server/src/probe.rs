//! How long the runtime keeps ready work waiting: the longest delay of a task that is due, as
//! the metric `orbweaver_runtime_longest_poll_seconds`.
//!
//! A task that computes or blocks instead of yielding holds up the others on its thread. With
//! free threads others are stolen from it, so one probe sees it once all threads are held up:
//! when clients do.
//!
//! The probe itself costs something, so it looks seldom while the threads have nothing to do:
//! a delay that begins then is seen by the next look, which it makes late.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::time::{Instant, sleep};

/// How often the probe is due. The runtime's timers are exact to a millisecond.
const EVERY: Duration = Duration::from_millis(10);
/// How often the longest delay is told, and begun anew; how often the probe is due while the
/// runtime rests.
const WINDOW: Duration = Duration::from_secs(1);
/// The runtime rests when its threads together worked for less than this of a window.
const REST: Duration = Duration::from_millis(20);

/// Measures without end.
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
        let rests = now.saturating_sub(worked) < REST && longest < EVERY;
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
    async fn work_that_does_not_yield_is_seen() {
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
