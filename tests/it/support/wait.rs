//! Waits for what happens in its own time, with a deadline.

use super::http::{LONG, PACE};

/// Waits until the condition holds; fails the test if it does not within two minutes.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(PACE).await;
        }
    };
    let waited = tokio::time::timeout(LONG, waiting).await;
    assert!(waited.is_ok(), "in two minutes not so: {what}");
}
