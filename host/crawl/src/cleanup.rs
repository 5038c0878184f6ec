//! Removes the data of deleted runs, and deletes runs beyond the retention limits.

use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::StoreError;
use tokio::time::timeout;

use crate::context::Crawls;

/// Interval at which deletions are looked for without a wake-up: another node may have
/// accepted them, or died before it finished.
const LOOK: Duration = Duration::from_secs(30);
/// Expired runs that are deleted at a time.
const RUNS: u32 = 100;

/// Runs until the process ends.
#[crate::boxed]
pub async fn run(crawls: Crawls) {
    loop {
        if let Err(error) = remove(&crawls).await {
            tracing::warn!(%error, "cannot remove the data of deleted runs; trying again");
        }
        let _ = timeout(LOOK, crawls.deletions.notified()).await;
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
/// may.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn retain(crawls: &Crawls) -> Result<(), StoreError> {
    let keep = &crawls.retention;
    if keep.runs_days > 0 {
        let before = crawls.clock.now() - TimeDelta::days(i64::from(keep.runs_days));
        loop {
            let runs = crawls.store.runs_ended_before(before, RUNS).await?;
            if runs.is_empty() {
                break;
            }
            for (project, run) in runs {
                crawls
                    .store
                    .delete_run(project, run, crawls.clock.now())
                    .await?;
            }
            remove(crawls).await?;
        }
    }
    if keep.project_mib > 0 {
        let bound = keep.project_mib.saturating_mul(1 << 20);
        for (project, stored) in crawls.store.projects_above(bound).await? {
            shrink(crawls, project, stored - bound.min(stored)).await?;
        }
    }
    Ok(())
}

/// Removes the project's oldest ended runs, then its oldest scans, until `excess` bytes of
/// bodies are removed or nothing else may be removed.
async fn shrink(crawls: &Crawls, project: ProjectId, excess: u64) -> Result<(), StoreError> {
    let mut left = excess;
    while left > 0 {
        let Some(run) = crawls.store.oldest_ended_run(project).await? else {
            break;
        };
        tracing::info!(%project, %run, "deleting the oldest run: its project stores too much");
        crawls
            .store
            .delete_run(project, run, crawls.clock.now())
            .await?;
        left = left.saturating_sub(remove(crawls).await?);
    }
    while left > 0 {
        let step = crawls.store.remove_oldest_scans(project).await?;
        if step.finished {
            break;
        }
        left = left.saturating_sub(step.bytes);
    }
    while crawls.store.release_space().await? {
        tokio::task::yield_now().await;
    }
    Ok(())
}
