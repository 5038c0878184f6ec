//! The worker: takes exports to buckets, and hands them back when it stops.

use std::time::Duration;

use chrono::{DateTime, Utc};
use orbweaver_accounts::context::Accounts;
use orbweaver_accounts::due::Due;
use orbweaver_accounts::random;
use orbweaver_store::StoreError;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::attempt;
use crate::context::Crawls;

/// Exports of this process at the same time, each of another project. They take turns at making and
/// sending a part, so that slow buckets cost the exports of others no more than a turn.
const CONCURRENT: usize = 32;
/// Time for exports in progress when the process stops.
const GRACE: Duration = Duration::from_secs(5);

/// Works until [`BucketExports::stop`](super::BucketExports::stop); then hands everything back.
#[crate::boxed]
pub async fn run(crawls: Crawls, accounts: Accounts) {
    let owner = format!("{:016x}{:08x}", random::seed(), std::process::id());
    let mut attempts = JoinSet::new();
    let mut due = Due::new(&crawls.store, &crawls.clock);
    loop {
        tokio::select! {
            () = crawls.bucket_exports.stopped() => break,
            () = due.wait() => {}
            () = crawls.bucket_exports.woken() => {}
            Some(ended) = attempts.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the task of an export panicked or was aborted");
                }
            }
        }
        let next = take(&crawls, &accounts, &owner, &mut attempts).await;
        if let Err(error) = &next {
            tracing::warn!(%error, "cannot look for exports to buckets");
        }
        due.looked(&next);
    }
    let last = async { while attempts.join_next().await.is_some() {} };
    if timeout(GRACE, last).await.is_err() {
        tracing::warn!("exports to buckets did not stop in time; their leases will expire");
    }
}

/// Takes as many exports as there is room for, one of a project; when another worker's lease runs
/// out next.
async fn take(
    crawls: &Crawls,
    accounts: &Accounts,
    owner: &str,
    attempts: &mut JoinSet<()>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    while crawls.bucket_exports.running() < CONCURRENT {
        let now = crawls.clock.now();
        let full = crawls.bucket_exports.projects();
        let until = now + crawls.config.lease_ms.as_duration();
        let leased = crawls.store.lease_export(owner, now, until, &full).await?;
        let Some(leased) = leased else { break };
        let registered = crawls.bucket_exports.register(
            leased.lease.export,
            leased.lease.project,
            leased.export.cancel_requested,
        );
        let (crawls, accounts) = (crawls.clone(), accounts.clone());
        attempts.spawn(async move {
            attempt::attempt(&crawls, &accounts, leased, registered).await;
        });
    }
    let now = crawls.clock.now();
    crawls.store.next_export_lease_end(owner, now).await
}
