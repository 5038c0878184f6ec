//! CPU-bound work, run outside the threads that serve requests.

use std::sync::LazyLock;

use orbweaver_engine::lower_priority;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::ScanError;

/// Largest input of work that reads each byte once or twice, such as JSON, which is done on the
/// calling thread, in bytes: less than a millisecond.
pub const INLINE_BYTES: usize = 64 << 10;
/// Largest input of work that is done among the short pieces, in bytes.
const SHORT_BYTES: usize = 512 << 10;

/// Bounds the running short pieces: each needs a core, and twice the number of cores keeps all of
/// them busy. Further pieces wait in order of arrival, without a thread.
static SHORT_TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2 * cores()));
/// The same for long pieces, which short ones do not wait for.
static LONG_TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(cores()));
/// Threads of low priority for long pieces. None if they cannot be started.
static LONG: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(cores())
        .thread_name("long-work")
        .on_thread_start(lower_priority)
        .build();
    runtime
        .inspect_err(|error| tracing::warn!(%error, "cannot start threads for long work; it shares those of short work"))
        .ok()
});

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

/// Runs CPU-bound work of a few milliseconds on a blocking thread. If the caller is dropped before
/// the work starts, the work never starts; once started, it runs to its end.
///
/// # Errors
/// When the work panics, or the process is stopping.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ScanError> {
    on(&Handle::current(), &SHORT_TURNS, work).await
}

/// Runs CPU-bound work on an input of `bytes` bytes, as [`blocking`]; if it is long, on threads of
/// low priority, so that it delays no short work.
///
/// # Errors
/// As [`blocking`].
pub async fn blocking_of<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ScanError> {
    match LONG.as_ref().filter(|_| bytes > SHORT_BYTES) {
        Some(threads) => on(threads.handle(), &LONG_TURNS, work).await,
        None => blocking(work).await,
    }
}

/// Runs work that reads `bytes` bytes once or twice: here if they are few, else as
/// [`blocking_of`].
///
/// # Errors
/// As [`blocking`].
pub async fn sized<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ScanError> {
    match bytes <= INLINE_BYTES {
        true => Ok(work()),
        false => blocking_of(bytes, work).await,
    }
}

async fn on<T: Send + 'static>(
    threads: &Handle,
    turns: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ScanError> {
    let threads = threads.clone();
    // Held by the work itself, because its thread stays busy if the caller is dropped.
    let begin = move |turn| {
        threads.spawn_blocking(move || {
            let _turn = turn;
            work()
        })
    };
    let done = match turns.try_acquire() {
        Ok(turn) => begin(Some(turn)).await,
        // The turn comes to a task, which uses it at once: a caller that is not polled meanwhile, as one
        // of a stream that reads ahead, would keep it from all others. The task ends with the caller.
        Err(_) => {
            let mut waiting = JoinSet::new();
            waiting.spawn(async move { begin(turns.acquire().await.ok()).await });
            match waiting.join_next().await {
                Some(Ok(done)) => done,
                Some(Err(error)) => Err(error),
                None => return Err(ScanError::Internal("a blocking task is missing".into())),
            }
        }
    };
    done.map_err(|error| ScanError::Internal(format!("a blocking task failed: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

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
        assert!(most.load(Ordering::SeqCst) <= 2 * cores());
    }

    #[tokio::test]
    async fn work_of_a_dropped_caller_is_never_started() {
        let turns = u32::try_from(2 * cores()).unwrap();
        let all = SHORT_TURNS.acquire_many(turns).await.unwrap();
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&begun);
        let mut waiting = Box::pin(blocking(move || seen.fetch_add(1, Ordering::SeqCst)));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(waiting);
        drop(all);
        blocking(|| ()).await.unwrap();
        assert_eq!(begun.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_caller_that_is_not_polled_keeps_no_turn() {
        let turns = 2 * cores();
        let all = SHORT_TURNS
            .acquire_many(u32::try_from(turns).unwrap())
            .await;
        // As the pages that a stream reads ahead, while its reader waits for something else.
        let mut ahead: Vec<_> = (0..turns).map(|_| Box::pin(blocking(|| ()))).collect();
        for caller in &mut ahead {
            assert!(futures::poll!(caller.as_mut()).is_pending());
        }
        drop(all);
        let next = tokio::time::timeout(Duration::from_secs(60), blocking(|| ()));
        next.await.unwrap().unwrap();
        for caller in ahead {
            caller.await.unwrap();
        }
    }

    #[tokio::test]
    async fn long_work_delays_no_short_work() {
        let turns = u32::try_from(cores()).unwrap();
        let all = LONG_TURNS.acquire_many(turns).await.unwrap();
        let mut long = Box::pin(blocking_of(SHORT_BYTES + 1, || ()));
        assert!(futures::poll!(long.as_mut()).is_pending());
        blocking_of(SHORT_BYTES, || ()).await.unwrap();
        assert!(
            futures::poll!(long.as_mut()).is_pending(),
            "no turn of a long piece is free"
        );
        drop(all);
        long.await.unwrap();
    }
}
