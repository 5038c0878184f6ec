//! Waiting for a run, with progress for the client that asked for it.

use std::time::Duration;

use futures::StreamExt as _;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::context::Ctx;
use crate::inside::{Call, Failure, Inside, events, segment};

/// Seconds that `crawl` waits, where the caller says nothing.
pub(super) const DEFAULT_WAIT: u64 = 60;
/// Most seconds that a caller may wait. Below every client's usual limit with progress, and
/// below this service's own limit for an answer without.
pub(super) const MAX_WAIT: u64 = 240;

/// Tells a client how far a run is.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) peer: Peer<RoleServer>,
    pub(super) token: ProgressToken,
}

/// Waits until a run ends, for at most so many seconds.
///
/// # Errors
/// The API's error: there is no such run.
pub(super) async fn follow(
    inside: &Inside,
    ctx: &Ctx,
    run: &str,
    seconds: u64,
    progress: Option<&Progress>,
) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let path = format!("/v1/crawls/{}/events", segment(run));
    let mut events = events(inside.open(ctx, Call::get(path)).await?);
    let mut told = -1.0;
    while let Ok(Some(event)) = timeout_at(end, events.next()).await {
        if let Some(progress) = progress {
            progress.tell(&event, &mut told).await;
        }
    }
    Ok(())
}

impl Progress {
    /// The protocol wants numbers that rise; a retried page may lower them.
    async fn tell(&self, event: &Value, told: &mut f64) {
        let count = |name: &str| event[name].as_f64().unwrap_or(0.0);
        let skipped: f64 = event["skipped"]
            .as_object()
            .into_iter()
            .flat_map(|reasons| reasons.values())
            .filter_map(Value::as_f64)
            .sum();
        let done = count("fetched") + count("failed") + skipped;
        if done <= *told {
            return;
        }
        *told = done;
        let message = format!(
            "{}: {} pages, {} failed, {} waiting",
            event["status"].as_str().unwrap_or("running"),
            event["fetched"],
            event["failed"],
            event["queued"],
        );
        let progress = ProgressNotificationParam::new(self.token.clone(), done)
            .with_total(done + count("queued"))
            .with_message(message);
        // A client that is gone is noticed by the transport, which ends this call.
        let _ = self.peer.notify_progress(progress).await;
    }
}
