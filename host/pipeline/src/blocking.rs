//! CPU-bound work, run outside the threads that serve requests.

use std::sync::LazyLock;

use tokio::sync::Semaphore;

use crate::error::ScanError;

/// Bounds the running pieces: each needs a core, and twice the number of cores keeps all of
/// them busy. Further pieces wait in order of arrival, without a thread.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Semaphore::new(2 * cores)
});

/// Runs CPU-bound work on a blocking thread. If the caller is dropped before the work starts,
/// the work never starts; once started, it runs to its end.
///
/// # Errors
/// When the work panics, or the process is stopping.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ScanError> {
    // Held by the work itself, because its thread stays busy if the caller is dropped.
    let turn = TURNS.acquire().await;
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await
        .map_err(|error| ScanError::Internal(format!("a blocking task failed: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn the_number_of_running_pieces_is_bounded() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = (0..64).map(|_| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            blocking(move || {
                let open = now.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(open, Ordering::SeqCst);
                std::thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for done in futures::future::join_all(work).await {
            done.unwrap();
        }
        let cores = std::thread::available_parallelism().unwrap().get();
        assert!(most.load(Ordering::SeqCst) <= 2 * cores);
    }

    #[tokio::test]
    async fn work_of_a_dropped_caller_is_never_started() {
        let cores = std::thread::available_parallelism().unwrap().get();
        let turns = u32::try_from(2 * cores).unwrap();
        let all = TURNS.acquire_many(turns).await.unwrap();
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&begun);
        let mut waiting = Box::pin(blocking(move || seen.fetch_add(1, Ordering::SeqCst)));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(waiting);
        drop(all);
        blocking(|| ()).await.unwrap();
        assert_eq!(begun.load(Ordering::SeqCst), 0);
    }
}
