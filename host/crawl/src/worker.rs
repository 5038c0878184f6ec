//! The worker: takes runs, keeps their leases, and hands them back when it stops.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_accounts::due::Due;
use orbweaver_accounts::fair::may_take;
use orbweaver_accounts::heartbeat::Heartbeat;
use orbweaver_accounts::random;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_store::crawl::LeasedRun;
use orbweaver_store::{Except, StoreError};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::commit::Committer;
use crate::context::Crawls;
use crate::handle::{Fate, RunHandle};
use crate::run;

/// How often hosts that are no longer in use are forgotten.
const FORGET: Duration = Duration::from_secs(600);
/// Time for open requests when the process stops.
const GRACE: Duration = Duration::from_secs(6);

/// Works until [`Crawls::stop`](crate::LiveRuns::stop); then hands everything back.
#[crate::boxed]
pub async fn run(crawls: Crawls) {
    let owner = format!("{:016x}{:08x}", random::seed(), std::process::id());
    let (committer, writer) = Committer::start(crawls.store.clone());
    let mut runs = JoinSet::new();
    let lease = crawls.config.lease_ms.as_duration();
    let mut beat = Heartbeat::new(&crawls.clock, lease);
    let mut ticks = interval(beat.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut due = Due::new(&crawls.store, &crawls.clock);
    let mut forget = Instant::now() + FORGET;
    loop {
        // A run that ended makes room for one that waits.
        let more = tokio::select! {
            () = crawls.live.stopped() => break,
            _ = ticks.tick() => {
                heartbeat(&crawls, lease, &mut beat).await;
                if Instant::now() >= forget {
                    forget = Instant::now() + FORGET;
                    let before = crawls.clock.now() - TimeDelta::hours(1);
                    if let Err(error) = crawls.store.forget_hosts(before).await {
                        tracing::warn!(%error, "cannot forget hosts");
                    }
                }
                false
            }
            () = due.wait() => true,
            () = crawls.live.woken() => true,
            Some(ended) = runs.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a crawl's task panicked or was aborted");
                }
                true
            }
        };
        if more {
            if beat.is_late() {
                heartbeat(&crawls, lease, &mut beat).await;
            }
            let careful = beat.careful_until();
            let next = take(&crawls, &owner, lease, careful, &committer, &mut runs).await;
            if let Err(error) = &next {
                tracing::warn!(%error, "cannot look for crawls");
                beat.failed();
            }
            due.looked(&next);
        }
    }
    let mut handles: Vec<Arc<RunHandle>> = crawls.live.handles();
    handles.extend(crawls.live.parts());
    for handle in handles {
        handle.doom(Fate::Stop);
    }
    if timeout(GRACE, async { while runs.join_next().await.is_some() {} })
        .await
        .is_err()
    {
        tracing::warn!("crawls did not stop in time; their leases will expire");
    }
    drop(runs);
    drop(committer);
    if timeout(Duration::from_secs(2), writer).await.is_err() {
        tracing::warn!("the last commits of crawls were not finished in time");
    }
}

/// Takes as many runs as there is room for; when another worker's lease runs out next. A
/// SQLite file has one worker, which ended all leases when it began. `careful`: until when nothing is
/// taken from other workers.
async fn take(
    crawls: &Crawls,
    owner: &str,
    lease: Duration,
    careful: Option<DateTime<Utc>>,
    committer: &Committer,
    runs: &mut JoinSet<()>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    while runs.len() < crawls.config.runs {
        let except = Except {
            projects: full(crawls, runs.len()).await,
            own: crawls.live.runs(),
            leased: careful.is_some(),
        };
        let Some(leased) = try_take(crawls, owner, lease, &except).await? else {
            break;
        };
        let handle = RunHandle::new(leased.lease, leased.run.progress.clone());
        crawls.live.insert(Arc::clone(&handle));
        let (crawls, committer) = (crawls.clone(), committer.clone());
        runs.spawn(async move {
            let registered = Registered {
                crawls: crawls.clone(),
                handle: Arc::clone(&handle),
            };
            run::run(crawls, leased, handle, committer).await;
            drop(registered);
        });
    }
    if !crawls.store.is_shared() {
        return Ok(careful);
    }
    if careful.is_none() {
        take_parts(crawls, owner, lease, committer, runs).await?;
    }
    let now = crawls.clock.now();
    let next_run = crawls.store.next_lease_end(owner, now).await?;
    let next_part = crawls.store.next_part_lease_end(owner, now).await?;
    Ok(next_run.into_iter().chain(next_part).chain(careful).min())
}

/// Helps with runs of other nodes, as long as half of the process's slots are free for runs of its
/// own.
async fn take_parts(
    crawls: &Crawls,
    owner: &str,
    lease: Duration,
    committer: &Committer,
    runs: &mut JoinSet<()>,
) -> Result<(), StoreError> {
    while runs.len() < crawls.config.runs.div_ceil(2) {
        // One part of a run at most: more would divide the work of one node.
        let mut known = crawls.live.runs();
        known.extend(crawls.live.parts().iter().map(|handle| handle.lease.run));
        let now = crawls.clock.now();
        let store = &crawls.store;
        let Some(leased) = store.lease_part(owner, now, now + lease, &known).await? else {
            break;
        };
        let handle = RunHandle::of_part(leased.lease);
        crawls.live.insert(Arc::clone(&handle));
        let (crawls, committer) = (crawls.clone(), committer.clone());
        runs.spawn(async move {
            let registered = Registered {
                crawls: crawls.clone(),
                handle: Arc::clone(&handle),
            };
            run::help(crawls, leased, handle, committer).await;
            drop(registered);
        });
    }
    Ok(())
}

/// Keeps a run in the process's list as long as its task lives.
struct Registered {
    crawls: Crawls,
    handle: Arc<RunHandle>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.crawls.live.remove(&self.handle);
    }
}

async fn try_take(
    crawls: &Crawls,
    owner: &str,
    lease: Duration,
    except: &Except<RunId>,
) -> Result<Option<LeasedRun>, StoreError> {
    let now = crawls.clock.now();
    if !crawls.store.has_waiting_run(now).await? {
        return Ok(None);
    }
    let until = now + lease;
    crawls.store.lease_fair_run(owner, now, until, except).await
}

/// Projects that have their share of the process's runs, so that there is room for others, or
/// as many as their tier allows: it may allow fewer than when the runs were queued.
async fn full(crawls: &Crawls, runs: usize) -> Vec<ProjectId> {
    let free = crawls.config.runs.saturating_sub(runs);
    let mut held: HashMap<ProjectId, usize> = HashMap::new();
    for handle in crawls.live.handles() {
        *held.entry(handle.lease.project).or_default() += 1;
    }
    let mut full = Vec::new();
    for (project, held) in held {
        if !may_take(held, free) || !allowed(crawls, project, held).await {
            full.push(project);
        }
    }
    full
}

/// Whether a project with so many runs here may have one more. Where that cannot be told, its
/// runs themselves find out.
async fn allowed(crawls: &Crawls, project: ProjectId, held: usize) -> bool {
    let tier = crawls.quota.caps(project).await;
    let cap = tier.ok().and_then(|tier| tier.concurrent_runs.0);
    cap.is_none_or(|cap| u64::try_from(held).is_ok_and(|held| held < cap))
}

/// Extends the leases of all runs and parts; drops those that are not ours any more.
async fn heartbeat(crawls: &Crawls, lease: Duration, beat: &mut Heartbeat) {
    let at = crawls.clock.now();
    let parts = extend_parts(crawls, at + lease).await;
    let runs = extend_runs(crawls, at + lease).await;
    match parts.and(runs) {
        Ok(()) => beat.extended(at),
        // The epoch prevents writes of this worker if another one has taken the run.
        Err(error) => {
            tracing::warn!(%error, "cannot extend the leases of crawls");
            beat.failed();
        }
    }
}

async fn extend_runs(crawls: &Crawls, until: DateTime<Utc>) -> Result<(), StoreError> {
    let handles: Vec<Arc<RunHandle>> = crawls.live.handles();
    if handles.is_empty() {
        return Ok(());
    }
    let leases: Vec<_> = handles.iter().map(|handle| handle.lease).collect();
    let ours = crawls.store.extend_leases(&leases, until).await?;
    let ours: HashSet<_> = ours.iter().map(|lease| lease.run).collect();
    for handle in handles {
        if !ours.contains(&handle.lease.run) {
            handle.doom(Fate::Lost);
        }
    }
    Ok(())
}

/// The same for parts of other nodes' runs.
async fn extend_parts(crawls: &Crawls, until: DateTime<Utc>) -> Result<(), StoreError> {
    let handles: Vec<Arc<RunHandle>> = crawls.live.parts();
    let leases: Vec<_> = handles.iter().filter_map(|handle| handle.part).collect();
    if leases.is_empty() {
        return Ok(());
    }
    let ours = crawls.store.extend_part_leases(&leases, until).await?;
    let ours: HashMap<_, _> = ours.into_iter().collect();
    for handle in handles {
        match handle.part.and_then(|part| ours.get(&part)) {
            Some(concurrency) => handle
                .concurrency
                .store(concurrency.unwrap_or(0), Ordering::Release),
            None => handle.doom(Fate::Lost),
        }
    }
    Ok(())
}
