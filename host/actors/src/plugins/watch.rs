//! Follows what other nodes upload and remove.

use std::time::Duration;

use crate::context::Actors;

/// How often a node looks for changes: half of what an upload may take to reach it.
const POLL: Duration = Duration::from_secs(1);

/// Follows the overlay for as long as the process lives.
#[crate::boxed]
pub async fn watch(actors: Actors) {
    let mut failing = false;
    loop {
        tokio::time::sleep(POLL).await;
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
    }
}
