//! The worker: takes runs, keeps their leases, and hands them back when it stops.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_store::crawl::LeasedRun;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::commit::{Committer, Fate, RunHandle};
use super::run;
use crate::app::App;

/// How often the worker looks for runs that other processes queued or lost.
const LOOK: Duration = Duration::from_millis(500);
/// How often hosts that are no longer in use are forgotten.
const FORGET: Duration = Duration::from_secs(600);
/// Time for the requests under way when the process stops.
const GRACE: Duration = Duration::from_secs(6);

/// Works until [`Crawls::stop`](super::Crawls::stop); then hands everything back.
pub async fn run(app: App) {
    let owner = format!("{:016x}{:08x}", run::random(), std::process::id());
    let (committer, writer) = Committer::start(app.clone());
    let mut runs = JoinSet::new();
    let lease = Duration::from_millis(app.config.crawl.lease_ms);
    let mut beat = interval(lease / 4);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut forget = Instant::now() + FORGET;
    loop {
        tokio::select! {
            () = app.crawls.stopped() => break,
            _ = beat.tick() => {
                heartbeat(&app, lease).await;
                if Instant::now() >= forget {
                    forget = Instant::now() + FORGET;
                    let before = app.clock.now() - TimeDelta::hours(1);
                    if let Err(error) = app.store.forget_hosts(before).await {
                        tracing::warn!(%error, "cannot forget hosts");
                    }
                }
            }
            _ = look.tick() => take(&app, &owner, lease, &committer, &mut runs).await,
            () = app.crawls.0.wake.notified() => {
                take(&app, &owner, lease, &committer, &mut runs).await;
            }
            Some(ended) = runs.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a crawl's task ended badly");
                }
            }
        }
    }
    let handles: Vec<Arc<RunHandle>> = app.crawls.0.runs.lock().values().cloned().collect();
    for handle in handles {
        handle.doom(Fate::Stop);
    }
    if timeout(GRACE, async { while runs.join_next().await.is_some() {} })
        .await
        .is_err()
    {
        tracing::warn!("crawls did not stop in time; their leases will run out");
    }
    drop(runs);
    drop(committer);
    if timeout(Duration::from_secs(2), writer).await.is_err() {
        tracing::warn!("the last commits of crawls were not finished in time");
    }
}

/// Takes as many runs as there is room for.
async fn take(
    app: &App,
    owner: &str,
    lease: Duration,
    committer: &Committer,
    runs: &mut JoinSet<()>,
) {
    while runs.len() < app.config.crawl.runs {
        match try_take(app, owner, lease).await {
            Ok(None) => return,
            Ok(Some(leased)) => {
                let handle = RunHandle::new(leased.lease, leased.run.progress.clone());
                app.crawls
                    .0
                    .runs
                    .lock()
                    .insert(leased.lease.run, Arc::clone(&handle));
                let (app, committer) = (app.clone(), committer.clone());
                runs.spawn(async move {
                    let registered = Registered {
                        app: app.clone(),
                        handle: Arc::clone(&handle),
                    };
                    run::run(app, leased, handle, committer).await;
                    drop(registered);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot look for crawls");
                return;
            }
        }
    }
}

/// Keeps a run in the process's list for as long as its task lives, however that ends.
struct Registered {
    app: App,
    handle: Arc<RunHandle>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut runs = self.app.crawls.0.runs.lock();
        let run = self.handle.lease.run;
        // The process may have taken it again under another epoch.
        if runs
            .get(&run)
            .is_some_and(|known| known.lease == self.handle.lease)
        {
            runs.remove(&run);
        }
    }
}

async fn try_take(
    app: &App,
    owner: &str,
    lease: Duration,
) -> Result<Option<LeasedRun>, orbweaver_store::StoreError> {
    let now = app.clock.now();
    if !app.store.has_waiting_run(now).await? {
        return Ok(None);
    }
    app.store.lease_run(owner, now, now + lease).await
}

/// Extends the leases of all runs; drops those that are not ours any more.
async fn heartbeat(app: &App, lease: Duration) {
    let handles: Vec<Arc<RunHandle>> = app.crawls.0.runs.lock().values().cloned().collect();
    if handles.is_empty() {
        return;
    }
    let leases: Vec<_> = handles.iter().map(|handle| handle.lease).collect();
    match app
        .store
        .extend_leases(&leases, app.clock.now() + lease)
        .await
    {
        Ok(ours) => {
            let ours: HashSet<_> = ours.iter().map(|lease| lease.run).collect();
            for handle in handles {
                if !ours.contains(&handle.lease.run) {
                    handle.doom(Fate::Lost);
                }
            }
        }
        // The fence keeps what another worker writes meanwhile.
        Err(error) => tracing::warn!(%error, "cannot extend the leases of crawls"),
    }
}
