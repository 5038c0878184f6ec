//! Follows what other nodes upload and remove.

use std::time::Duration;

use crate::context::Actors;

/// Between two looks, at least: half of what an upload may take to reach a node.
const LOOK: Duration = Duration::from_secs(1);

/// Follows the overlay for as long as the process lives. Sleeps until the database changes.
pub async fn watch(actors: Actors) {
    let mut pulse = actors.store.pulse();
    let mut failing = false;
    loop {
        if !failing {
            pulse.changed().await;
        }
        let done = actors
            .overlay
            .follow(&actors.store, &actors.pipeline.engine)
            .await;
        if let Err(error) = &done
            && !failing
        {
            tracing::warn!(%error, "uploaded plugins can't be followed");
        }
        failing = done.is_err();
        tokio::time::sleep(LOOK).await;
    }
}
