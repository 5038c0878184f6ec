//! Removes the data of deleted runs, and deletes runs beyond the retention limits.

use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_store::{ExclusiveWork, StoreError};
use tokio::time::{sleep, timeout};

use crate::context::Crawls;

/// Interval at which deletions are looked for without a wake-up: another node may have
/// accepted them, or died before it finished.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Expired runs that are deleted at a time.
const RUNS: u32 = 100;
/// One process deletes what projects store beyond their bounds.
const WORK: ExclusiveWork = ExclusiveWork::Shrinking;
/// Time until it is looked again whether others have removed what was deleted.
const AGAIN: Duration = Duration::from_millis(100);

/// Runs until the process ends.
#[crate::boxed]
pub async fn run(crawls: Crawls) {
    loop {
        if let Err(error) = remove(&crawls).await {
            tracing::warn!(%error, "cannot remove the data of deleted runs; trying again");
        }
        let _ = timeout(POLL_INTERVAL, crawls.deletions.notified()).await;
    }
}

/// Removes the data of deleted runs in small transactions, then shrinks the database. Returns
/// the bytes of removed bodies.
///
/// # Errors
/// If the database fails; the next call removes the rest.
#[crate::boxed]
pub async fn remove(crawls: &Crawls) -> Result<u64, StoreError> {
    let (mut rows, mut bytes) = (0, 0);
    loop {
        let step = crawls.store.remove_deleted().await?;
        rows += step.rows;
        bytes += step.bytes;
        if step.finished {
            break;
        }
        // Let others write between two transactions.
        tokio::task::yield_now().await;
    }
    if rows > 0 {
        tracing::info!(rows, bytes, "removed the data of deleted runs");
        while crawls.store.release_space().await? {
            tokio::task::yield_now().await;
        }
    }
    Ok(bytes)
}

/// Deletes runs that are too old, and the oldest runs of projects that store more than they
/// may. A run that a monitor's next run is compared with is not too old.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn retain(crawls: &Crawls) -> Result<(), StoreError> {
    let keep = &crawls.retention;
    if keep.runs_days > 0
        && let Some(before) = crawls.clock.days_ago(keep.runs_days)
    {
        let mut last = None;
        loop {
            let store = &crawls.store;
            let runs = store.runs_ended_before(before, last.as_ref(), RUNS).await?;
            last = runs.last().copied();
            if last.is_none() {
                break;
            }
            for ended in runs.iter().filter(|ended| !ended.is_needed) {
                let now = crawls.clock.now();
                store.delete_run(ended.project, ended.run, now).await?;
            }
            remove(crawls).await?;
        }
    }
    if keep.project_mib > 0 {
        let store = &crawls.store;
        // Two processes that look at the same sum would both delete what is too much.
        if store.begin_exclusive_work(WORK, crawls.clock.now()).await? {
            let done = shrink_all(crawls, keep.project_mib.saturating_mul(1 << 20)).await;
            store.end_exclusive_work(WORK, crawls.clock.now()).await?;
            done?;
        }
    }
    Ok(())
}

/// Deletes what projects store beyond this many bytes.
async fn shrink_all(crawls: &Crawls, bound: u64) -> Result<(), StoreError> {
    for (project, _) in crawls.store.projects_above(bound).await? {
        shrink(crawls, project, bound).await?;
    }
    Ok(())
}

/// Removes the project's oldest ended runs, then its oldest scans, then the runs that monitors need to
/// compare with, until it stores at most `bound` bytes of bodies or nothing else may be removed.
async fn shrink(crawls: &Crawls, project: ProjectId, bound: u64) -> Result<(), StoreError> {
    let store = &crawls.store;
    remove_oldest_runs(crawls, project, bound, false).await?;
    while is_above(crawls, project, bound).await? {
        if store.remove_oldest_scans(project).await?.finished {
            break;
        }
    }
    remove_oldest_runs(crawls, project, bound, true).await?;
    while store.release_space().await? {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Removes the project's oldest ended runs, with `needed` those that monitors need, too.
async fn remove_oldest_runs(
    crawls: &Crawls,
    project: ProjectId,
    bound: u64,
    needed: bool,
) -> Result<(), StoreError> {
    let store = &crawls.store;
    while is_above(crawls, project, bound).await? {
        let Some(run) = store.oldest_ended_run(project, needed).await? else {
            break;
        };
        tracing::info!(%project, %run, needed, "deleting the oldest run: its project stores too much");
        store.delete_run(project, run, crawls.clock.now()).await?;
    }
    Ok(())
}

/// Whether the project stores more than `bound` bytes once all that is deleted is removed: other
/// tasks and processes remove it, too.
async fn is_above(crawls: &Crawls, project: ProjectId, bound: u64) -> Result<bool, StoreError> {
    let store = &crawls.store;
    loop {
        remove(crawls).await?;
        store.keep_exclusive_work(WORK, crawls.clock.now()).await?;
        if !store.is_removing(project).await? {
            return Ok(store.stored_bytes(project).await? > bound);
        }
        // Another process has a piece of it at present.
        sleep(AGAIN).await;
    }
}
