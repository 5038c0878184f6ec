//! Follows uploads and removals made by other nodes.

use std::time::Duration;

use crate::context::Actors;

/// How often a node checks: half the time in which an upload must reach it.
const POLL: Duration = Duration::from_secs(1);

/// Follows the uploads as long as the process lives.
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
            tracing::warn!(%error, "cannot update uploaded plugins");
        }
        failing = done.is_err();
    }
}
