//! CPU-bound work, apart from the threads that serve requests.

use crate::error::ScanError;

/// Runs CPU-bound work where it holds up nobody.
///
/// # Errors
/// When the work panics, or the process is stopping.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ScanError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ScanError::Internal(format!("a worker ended: {error}")))
}
