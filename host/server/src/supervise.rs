//! Background tasks that the service is not complete without.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;

/// Time before a task that panicked begins again.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs a task until it ends by itself. One that panics begins again after a second: otherwise the
/// service would go on without it, and only look healthy.
pub async fn supervised<F>(name: &'static str, task: impl Fn() -> F)
where
    F: Future<Output = ()>,
{
    again_after(PAUSE, name, task).await;
}

async fn again_after<F>(pause: Duration, name: &'static str, task: impl Fn() -> F)
where
    F: Future<Output = ()>,
{
    let mut panicked = false;
    // All that could panic is inside, the line of the log, too.
    let mut next = async || {
        if panicked {
            tokio::time::sleep(pause).await;
            tracing::error!(task = name, "a background task panicked; it begins again");
        }
        panicked = true;
        task().await;
    };
    while AssertUnwindSafe(next()).catch_unwind().await.is_err() {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_begins_again_until_it_ends() {
        let begun = AtomicUsize::new(0);
        again_after(Duration::ZERO, "test", || async {
            assert!(begun.fetch_add(1, Ordering::Relaxed) >= 2, "too early");
        })
        .await;
        assert_eq!(begun.into_inner(), 3);
    }
}
