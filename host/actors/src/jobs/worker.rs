//! The worker: takes jobs, keeps their leases, and hands them back when it stops.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use orbweaver_accounts::due::Due;
use orbweaver_accounts::fair::may_take;
use orbweaver_accounts::heartbeat::Heartbeat;
use orbweaver_accounts::random;
use orbweaver_core::ids::{JobId, ProjectId};
use orbweaver_store::{Except, StoreError};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::live::{Fate, JobHandle};
use super::run;
use crate::context::Actors;

/// Time for running jobs when the process stops.
const GRACE: Duration = Duration::from_secs(5);

/// Works until [`LiveJobs::stop`](super::LiveJobs::stop); then hands everything back.
#[crate::boxed]
pub async fn run(actors: Actors) {
    let owner = format!("{:016x}{:08x}", random::seed(), std::process::id());
    let mut jobs = JoinSet::new();
    let lease = actors.job_config.lease_ms.as_duration();
    let mut beat = Heartbeat::new(&actors.clock, lease);
    let mut ticks = interval(beat.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut due = Due::new(&actors.store, &actors.clock);
    let mut left_until = None;
    loop {
        // A job that ended makes room for one that waits.
        let more = tokio::select! {
            () = actors.jobs.stopped() => break,
            _ = ticks.tick() => {
                heartbeat(&actors, lease, &mut beat).await;
                false
            }
            () = due.wait() => true,
            () = actors.jobs.woken() => true,
            Some(ended) = jobs.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the task of an actor's run panicked or was aborted");
                }
                // If it could not write its end, nobody extends its lease any more.
                left_until = Some(actors.clock.now() + lease);
                true
            }
        };
        if more {
            if beat.is_late() {
                heartbeat(&actors, lease, &mut beat).await;
            }
            let careful = beat.careful_until();
            let next = take(&actors, &owner, lease, careful.is_some(), &mut jobs).await;
            if let Err(error) = &next {
                tracing::warn!(%error, "cannot look for runs of actors");
                beat.failed();
            }
            let now = actors.clock.now();
            left_until = left_until.filter(|until| *until > now);
            let others = left_until.into_iter().chain(careful);
            due.looked(&next.map(|next| next.into_iter().chain(others).min()));
        }
    }
    for handle in actors.jobs.handles() {
        handle.doom(Fate::HandBack);
    }
    if timeout(GRACE, async { while jobs.join_next().await.is_some() {} })
        .await
        .is_err()
    {
        tracing::warn!("runs of actors did not stop in time; their leases will expire");
    }
}

/// Takes as many jobs as there is room for; when another worker's lease runs out next. `is_careful`: nothing
/// is taken from other workers.
async fn take(
    actors: &Actors,
    owner: &str,
    lease: Duration,
    is_careful: bool,
    jobs: &mut JoinSet<()>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    while jobs.len() < actors.job_config.concurrent {
        let now = actors.clock.now();
        if !actors.store.has_waiting_job(now).await? {
            break;
        }
        let except = Except {
            projects: full(actors, jobs.len(), now).await?,
            own: actors.jobs.jobs(),
            leased: is_careful,
        };
        let leased = actors
            .store
            .lease_fair_job(owner, now, now + lease, &except)
            .await?;
        let Some(leased) = leased else {
            break;
        };
        // Another node has taken one since.
        if !allows(actors, leased.lease.project, leased.held).await {
            actors.store.release_job(leased.lease).await?;
            continue;
        }
        if leased.lease.epoch > 1 {
            actors.jobs.remove_items();
        }
        let handle = JobHandle::new(leased.lease, leased.job.cancel_requested);
        actors.jobs.insert(Arc::clone(&handle));
        let registered = Registered {
            actors: actors.clone(),
            handle: Arc::clone(&handle),
        };
        jobs.spawn(async move {
            run::attempt(&registered.actors, leased, handle).await;
            drop(registered);
        });
    }
    actors
        .store
        .next_job_lease_end(owner, actors.clock.now())
        .await
}

/// Keeps a job in the process's list as long as its task lives.
struct Registered {
    actors: Actors,
    handle: Arc<JobHandle>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.actors.jobs.remove(&self.handle);
    }
}

/// Projects that have their share of the process's jobs, so that there is room for others, or on all
/// nodes together as many as their tier allows runs at once.
async fn full(
    actors: &Actors,
    jobs: usize,
    now: DateTime<Utc>,
) -> Result<Vec<ProjectId>, StoreError> {
    let free = actors.job_config.concurrent.saturating_sub(jobs);
    let mut held: HashMap<ProjectId, usize> = HashMap::new();
    for handle in actors.jobs.handles() {
        *held.entry(handle.lease.project).or_default() += 1;
    }
    let shared_out = held.iter().filter(|(_, held)| !may_take(**held, free));
    let mut full: Vec<ProjectId> = shared_out.map(|(project, _)| *project).collect();
    for (project, held) in actors.store.held_jobs(now).await? {
        if !full.contains(&project) && !allows(actors, project, held.saturating_add(1)).await {
            full.push(project);
        }
    }
    Ok(full)
}

/// Whether the project's tier allows so many runs at once. One always goes on: it was queued when the tier
/// allowed it.
async fn allows(actors: &Actors, project: ProjectId, runs: u64) -> bool {
    let tier = actors.quota.caps(project).await.ok();
    let cap = tier.and_then(|tier| tier.concurrent_runs.0);
    cap.is_none_or(|cap| runs <= cap.max(1))
}

/// Extends the leases of all jobs, drops those that are not ours any more, and tells actors whose
/// run was cancelled elsewhere.
async fn heartbeat(actors: &Actors, lease: Duration, beat: &mut Heartbeat) {
    let at = actors.clock.now();
    let handles = actors.jobs.handles();
    if handles.is_empty() {
        return beat.extended(at);
    }
    let leases: Vec<_> = handles.iter().map(|handle| handle.lease).collect();
    match actors.store.extend_job_leases(&leases, at + lease).await {
        Ok(ours) => {
            beat.extended(at);
            let ours: HashMap<JobId, bool> = ours
                .iter()
                .map(|(lease, cancel)| (lease.job, *cancel))
                .collect();
            for handle in handles {
                match ours.get(&handle.lease.job) {
                    None => handle.doom(Fate::Lost),
                    Some(true) => drop(handle.cancel.send_replace(true)),
                    Some(false) => {}
                }
            }
        }
        // The epoch prevents writes of this worker if another one has taken the job.
        Err(error) => {
            tracing::warn!(%error, "cannot extend the leases of actors' runs");
            beat.failed();
        }
    }
}
