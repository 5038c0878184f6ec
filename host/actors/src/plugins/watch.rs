//! Follows uploads and removals made by other nodes.

use std::time::Duration;

use super::overlay::follow;
use crate::context::Actors;

/// Least time between two checks: half the time in which an upload must reach a node.
const LOOK: Duration = Duration::from_secs(1);

/// Follows the uploads as long as the process lives. Sleeps until the database changes.
#[crate::boxed]
pub async fn watch(actors: Actors) {
    let mut pulse = actors.store.pulse();
    let mut failing = false;
    loop {
        if !failing {
            pulse.changed().await;
        }
        let done = follow(&actors, false).await;
        if let Err(error) = &done
            && !failing
        {
            tracing::warn!(%error, "cannot update uploaded plugins");
        }
        failing = done.is_err();
        tokio::time::sleep(LOOK).await;
    }
}
