//! Removes the items of deleted jobs and of void attempts, and deletes old jobs.

use std::time::Duration;

use orbweaver_store::StoreError;
use tokio::time::timeout;

use crate::context::Actors;

/// Interval at which removals are looked for without a wake-up: another node may have noted them,
/// or died before it finished.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Expired jobs that are deleted at a time.
const JOBS: u32 = 100;

/// Runs until the process ends.
#[crate::boxed]
pub async fn run(actors: Actors) {
    loop {
        if let Err(error) = remove(&actors).await {
            tracing::warn!(%error, "cannot remove the items of deleted runs; trying again");
        }
        let _ = timeout(POLL_INTERVAL, actors.jobs.removals()).await;
    }
}

async fn remove(actors: &Actors) -> Result<(), StoreError> {
    while actors.store.remove_job_items().await? {
        // Let others write between two transactions.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Deletes jobs that ended more than `days` ago; 0 keeps them.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn retain(actors: &Actors, days: u32) -> Result<(), StoreError> {
    let before = actors.clock.days_ago(days).filter(|_| days > 0);
    let Some(before) = before else {
        return Ok(());
    };
    loop {
        let jobs = actors.store.jobs_ended_before(before, JOBS).await?;
        if jobs.is_empty() {
            return Ok(());
        }
        for (project, job) in jobs {
            actors.store.delete_job(project, job).await?;
        }
        remove(actors).await?;
    }
}
