//! Ends a run together with its webhook deliveries.

use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Ending, Lease, Run};

use super::plan;
use crate::context::Crawls;
use crate::hooks::deliver::{self, Delivered};

/// Ends a run and queues its webhook deliveries; `false` if the lease was lost.
///
/// # Errors
/// If the database fails; the run has not ended then.
#[crate::boxed]
pub async fn end_run(
    crawls: &Crawls,
    run: &Run,
    lease: Lease,
    ending: &Ending,
) -> Result<bool, StoreError> {
    let at = crawls.clock.now();
    let mut ending = ending.clone();
    let mut webhook = plan::plan(&crawls.store, run, &ending).await?;
    if let Some(told) = &mut webhook
        && let Delivered::Failed(why) = deliver::payloads(crawls, lease, &ending, told, at).await?
    {
        ending.done = false;
        ending.error_message = Some(why);
        // The delivery is made as without hooks, because a hook that failed may fail again.
        webhook = plan::plan(&crawls.store, run, &ending).await?;
    }
    let ended = crawls
        .store
        .end_run(lease, &ending, webhook.as_ref(), at)
        .await?;
    if ended {
        crawls.pipeline.index_backlog.hurry();
    }
    if ended && webhook.is_some() {
        crawls.webhooks.wake();
    }
    Ok(ended)
}
