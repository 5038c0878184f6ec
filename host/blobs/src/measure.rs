//! Metrics of requests to the blob store.

use std::time::Instant;

use crate::error::BlobError;

/// Runs a request, and counts it with its duration and outcome.
pub(crate) async fn measured<T>(
    operation: &'static str,
    request: impl Future<Output = Result<T, BlobError>>,
) -> Result<T, BlobError> {
    let begun = Instant::now();
    let done = request.await;
    let outcome = done.as_ref().map_or_else(BlobError::outcome, |_| "ok");
    metrics::counter!("orbweaver_blob_requests_total", "operation" => operation, "outcome" => outcome)
        .increment(1);
    metrics::histogram!("orbweaver_blob_request_seconds", "operation" => operation)
        .record(begun.elapsed().as_secs_f64());
    done
}

/// Counts bytes of objects, without what the protocol adds.
pub(crate) fn transferred(direction: &'static str, bytes: usize) {
    metrics::counter!("orbweaver_blob_bytes_total", "direction" => direction)
        .increment(bytes as u64);
}

/// Counts a response that asked for a pause: 429 or 503.
pub(crate) fn slowed_down() {
    metrics::counter!("orbweaver_blob_slowdowns_total").increment(1);
}
