//! Tasks for what the host does when a guest calls an import.
//!
//! The guest's own future does none of it. While a guest computes, or is stopped in a synchronous import, nobody
//! polls the futures of its asynchronous imports. Such a future must not hold a turn, a connection or a lock that
//! others need, nor queue for one: it would keep it from all other calls until the guest's time is over. A task
//! goes on by itself, and holds what is shared only while it works.
//!
//! The tasks run on the threads of whoever asked for the call, where no guest runs. CPU-bound work runs on the
//! blocking threads of the guest's runtime, in turn.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::error::{CodedError, StopReason};
use crate::meter::{Meter, measured};
use crate::tasks::Spawned;

/// CPU time for handing work to a blocking thread and its result back: two tasks, and threads that wake up. Of
/// many short reads of a large page, it is most of what they cost. Measured.
const HANDOVER: Duration = Duration::from_micros(40);

tokio::task_local! {
    /// Of the guest's task that runs.
    static CURRENT: HostTasks;
}

/// Turns of guests whose threads are no [`Tasks`](crate::tasks::Tasks).
static OTHER_TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(turns);

/// Turns for parses and searches of guests: each needs a core.
pub(crate) fn turns() -> Arc<Semaphore> {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Arc::new(Semaphore::new(cores))
}

/// Where the host works for a guest.
#[derive(Clone, Debug)]
pub(crate) struct HostTasks {
    /// Threads of whoever asked for the call.
    asker: Handle,
    /// Threads of the guest.
    guests: Handle,
    /// Turns on the blocking threads of the guest's runtime. Guests of other runtimes have their own: threads of
    /// low priority keep no turn from others.
    turns: Arc<Semaphore>,
}

impl HostTasks {
    /// For a guest that the running task puts on these threads.
    pub fn of_guest(guests: &Handle, turns: &Arc<Semaphore>) -> Self {
        Self {
            asker: Handle::try_current().unwrap_or_else(|_| guests.clone()),
            guests: guests.clone(),
            turns: Arc::clone(turns),
        }
    }

    /// Runs a guest whose imports find this as [`current`](Self::current).
    pub async fn scope<F: Future>(self, guest: F) -> F::Output {
        CURRENT.scope(self, guest).await
    }

    /// For the guest that the running task runs.
    pub fn current() -> Self {
        CURRENT
            .try_with(Self::clone)
            .unwrap_or_else(|_| Self::of_guest(&Handle::current(), &OTHER_TURNS))
    }

    /// Does work for an import in a task of its own, and counts its CPU time as the guest's. Dropping the
    /// returned future ends it.
    ///
    /// # Errors
    /// Those of the work; `failed` if it panics or the service shuts down.
    pub async fn run<T, E>(
        &self,
        meter: &Arc<Meter>,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<CodedError> + Send + 'static,
    {
        let counted = Counted {
            meter: Arc::clone(meter),
            work: Box::pin(work),
        };
        match Spawned::on(&self.asker, counted).await {
            Ok(result) => result,
            Err(_) => Err(CodedError::failed("the host failed").into()),
        }
    }

    /// Does CPU-bound work on a blocking thread once it has a turn, and counts its time and that of handing it
    /// over as the guest's, also if the guest does not wait for it. Only the guest's thread may check the meter afterwards.
    ///
    /// # Errors
    /// [`StopReason::Cancelled`] if the work panics or the engine shuts down: nobody reads the result.
    pub async fn blocking<T: Send + 'static>(
        &self,
        meter: &Arc<Meter>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StopReason> {
        let (tasks, spender) = (self.clone(), Arc::clone(meter));
        let in_turn = async move {
            let turn = tasks.turns.acquire_owned().await;
            let done = tasks.guests.spawn_blocking(move || {
                // Held by the work itself: a call that is dropped leaves its thread busy.
                let _turn = turn;
                let (result, cpu) = measured(work);
                spender.spend(cpu + HANDOVER);
                result
            });
            done.await.map_err(|_| StopReason::Cancelled)
        };
        let done = Spawned::on(&self.asker, in_turn).await;
        done.unwrap_or(Err(StopReason::Cancelled))
    }
}

/// Counts the CPU time of each poll.
struct Counted<F> {
    meter: Arc<Meter>,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (poll, cpu) = measured(|| self.work.as_mut().poll(cx));
        self.meter.spend(cpu);
        poll
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    fn meter() -> Arc<Meter> {
        let long = Duration::from_secs(3_600);
        Arc::new(Meter::new(long, long))
    }

    fn tasks(turns: usize) -> HostTasks {
        HostTasks::of_guest(&Handle::current(), &Arc::new(Semaphore::new(turns)))
    }

    #[tokio::test]
    async fn a_call_that_is_not_polled_keeps_no_turn_from_others() {
        let (tasks, meter) = (tasks(1), meter());
        // One that has begun, and one that waits; nobody polls them again.
        let mut begun = Box::pin(tasks.blocking(&meter, || 1));
        assert!(begun.as_mut().now_or_never().is_none());
        let mut waits = Box::pin(tasks.blocking(&meter, || 2));
        assert!(waits.as_mut().now_or_never().is_none());
        assert_eq!(tasks.blocking(&meter, || 3).await, Ok(3));
        assert_eq!(begun.await, Ok(1));
        assert_eq!(waits.await, Ok(2));
    }

    #[tokio::test]
    async fn work_goes_on_unpolled_until_its_call_is_dropped() {
        let (tasks, meter) = (tasks(1), meter());
        let (begun, has_begun) = oneshot::channel();
        let (held, is_held) = oneshot::channel::<()>();
        let work = async move {
            let _held = held;
            begun.send(()).map_err(|()| CodedError::failed("unheard"))?;
            std::future::pending::<Result<(), CodedError>>().await
        };
        let mut call = Box::pin(tasks.run(&meter, work));
        assert!(call.as_mut().now_or_never().is_none());
        assert_eq!(has_begun.await, Ok(()));
        drop(call);
        assert!(is_held.await.is_err(), "the task has dropped what it held");
    }

    #[tokio::test]
    async fn cpu_time_of_the_work_is_the_guests() {
        let (tasks, meter) = (tasks(1), meter());
        let burn = || std::hint::black_box((0..2_000_000_u64).fold(0, |a, b| a ^ (b * 31)));
        let work = async move { Ok::<_, CodedError>(burn()) };
        tasks.run(&meter, work).await.unwrap();
        let of_polls = meter.cpu();
        assert!(of_polls > Duration::ZERO);
        tasks.blocking(&meter, burn).await.unwrap();
        assert!(meter.cpu() > of_polls + HANDOVER);
        // Short work costs what handing it over does.
        let before = meter.cpu();
        for _ in 0..10 {
            tasks.blocking(&meter, || ()).await.unwrap();
        }
        assert!(meter.cpu() >= before + HANDOVER * 10);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_host() {
        let (tasks, meter) = (tasks(1), meter());
        let panics = || -> Result<(), CodedError> { panic!("as a test") };
        let failed = tasks.run(&meter, async move { panics() }).await;
        assert_eq!(failed, Err(CodedError::failed("the host failed")));
        let failed = tasks.blocking(&meter, panics).await;
        assert_eq!(failed, Err(StopReason::Cancelled));
        assert_eq!(
            tasks.blocking(&meter, || 1).await,
            Ok(1),
            "its turn is free"
        );
    }
}
