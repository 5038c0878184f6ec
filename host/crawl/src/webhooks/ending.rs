//! Ends a run together with its webhook deliveries.

use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Ending, Lease, Run};

use super::plan;
use crate::context::Crawls;

/// Ends a run and queues its webhook deliveries; `false` if the lease is not ours any more.
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
    let webhook = plan::plan(&crawls.store, run, ending).await?;
    let ended = crawls
        .store
        .end_run(lease, ending, webhook.as_ref(), crawls.clock.now())
        .await?;
    if ended && webhook.is_some() {
        crawls.webhooks.wake();
    }
    Ok(ended)
}
