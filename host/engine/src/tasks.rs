//! Threads of their own for guests that wait, and for long work on their behalf.

use tokio::task::JoinHandle;

use crate::error::PluginError;

/// Threads for CPU-bound work per thread for guests; what exceeds them waits.
const BLOCKING_PER_THREAD: usize = 4;

/// Threads of their own for guests that wait, so that a busy one delays other guests and
/// not the service's requests. Parses, and checks of long inputs and answers, get threads
/// beside them.
pub(crate) struct Tasks(Option<tokio::runtime::Runtime>, tokio::runtime::Handle);

impl Tasks {
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .max_blocking_threads(threads.max(1) * BLOCKING_PER_THREAD)
            .thread_name("plugin-task")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }

    /// The runtime's handle.
    pub fn handle(&self) -> &tokio::runtime::Handle {
        &self.1
    }

    /// Runs CPU-bound work there, off the asynchronous threads.
    ///
    /// # Errors
    /// [`PluginError::Engine`] if it panics or the engine shuts down.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PluginError> {
        self.1.spawn_blocking(work).await.map_err(join_error)
    }

    /// Runs a future there; dropping the returned one ends it.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Spawned<T> {
        Spawned(self.1.spawn(future))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // Waiting for it is not allowed on asynchronous threads, and not needed.
        if let Some(runtime) = self.0.take() {
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

/// A task that ends when this is dropped.
pub(crate) struct Spawned<T>(JoinHandle<T>);

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
