//! Separate threads for guests that wait, and for long work on their behalf.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::error::PluginError;
use crate::host_tasks::{self, HostTasks};
use crate::tenancy::lower_priority;

/// Threads for CPU-bound work per guest thread; further work waits.
const BLOCKING_PER_THREAD: usize = 4;

/// Threads for guests that wait, separate from the service's, so that a busy guest delays other
/// guests but not requests. Parses, and checks of long inputs and answers, use further threads.
pub(crate) struct Tasks {
    /// `None` once it is being dropped.
    runtime: Option<tokio::runtime::Runtime>,
    handle: tokio::runtime::Handle,
    /// Turns of its guests' parses and searches.
    turns: Arc<Semaphore>,
}

impl Tasks {
    pub fn new(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "plugin-task", || ())
    }

    /// Threads that get less CPU time than others where both compete for it.
    pub fn of_low_priority(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "tenant-task", lower_priority)
    }

    fn with_threads(threads: usize, name: &str, begin: fn()) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .max_blocking_threads(threads.max(1) * BLOCKING_PER_THREAD)
            .thread_name(name)
            .on_thread_start(begin)
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self {
            runtime: Some(runtime),
            handle,
            turns: host_tasks::turns(),
        })
    }

    /// Handle of the runtime.
    pub fn handle(&self) -> &tokio::runtime::Handle {
        &self.handle
    }

    /// Runs CPU-bound work on blocking threads.
    ///
    /// # Errors
    /// [`PluginError::Engine`] if it panics or the engine shuts down.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PluginError> {
        let done = self.handle.spawn_blocking(work).await;
        done.map_err(join_error)
    }

    /// Runs a future on these threads; dropping the returned one ends it. What the host does for a guest
    /// in it runs on the calling task's threads.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Spawned<T> {
        let for_host = HostTasks::of_guest(&self.handle, &self.turns);
        Spawned::on(&self.handle, for_host.scope(future))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // Blocking shutdown is not allowed on asynchronous threads, and not needed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn join_error(error: tokio::task::JoinError) -> PluginError {
    let why = if error.is_panic() {
        "a task panicked"
    } else {
        "shutting down"
    };
    PluginError::Engine(why.to_owned())
}

/// A task that is aborted when this is dropped.
pub(crate) struct Spawned<T>(JoinHandle<T>);

impl<T: Send + 'static> Spawned<T> {
    /// Runs a future on the threads of a runtime.
    pub fn on(
        threads: &tokio::runtime::Handle,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        // The lines of a plugin carry the caller's request id, which is in its span.
        Self(threads.spawn(future.in_current_span()))
    }
}

impl<T> Future for Spawned<T> {
    type Output = Result<T, PluginError>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx).map_err(join_error)
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
