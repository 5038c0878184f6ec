//! Follows uploads and removals made by other nodes.

use std::time::Duration;

use orbweaver_store::Topic;
use tokio::time::{Instant, sleep, sleep_until};

use super::overlay::follow;
use crate::context::Actors;

/// Least time between two checks: half the time in which an upload must reach a node.
const LOOK: Duration = Duration::from_secs(1);

/// Follows the uploads as long as the process lives. Sleeps until the database changes, or an upload
/// that did not load is tried again.
#[crate::boxed]
pub async fn watch(actors: Actors) {
    let mut pulse = actors.store.pulse();
    let mut notices = actors.store.notices(Topic::Plugins);
    let mut failing = false;
    loop {
        if !failing {
            let retry = actors.overlay.next_retry();
            tokio::select! {
                () = pulse.changed() => {}
                Ok(()) = notices.changed() => {}
                () = at(retry) => {}
            }
        }
        let done = follow(&actors, false).await;
        if let Err(error) = &done
            && !failing
        {
            tracing::warn!(%error, "cannot update uploaded plugins");
        }
        failing = done.is_err();
        // An upload that a node tells of is followed at once.
        tokio::select! {
            () = sleep(LOOK) => {}
            Ok(()) = notices.changed() => {}
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
