//! Background work: heartbeat, renewal of reservations, release of memory, and deletion of expired data.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_store::{BlobSweeper, Retention, Swept};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, MissedTickBehavior, interval};

use orbweaver_actors::jobs;
use orbweaver_crawl::{cleanup, set_back};

use crate::config::Role;
use crate::service::Service;

const BEAT: Duration = Duration::from_secs(1);
const RENEW_EVERY: Duration = Duration::from_secs(60);
const PURGE_EVERY: Duration = Duration::from_secs(600);
const SHOW_WORKER_EVERY: Duration = Duration::from_secs(5);
const MEASURE_REPLICAS_EVERY: Duration = Duration::from_secs(5);
const CORRECT_CLOCK_EVERY: Duration = Duration::from_secs(5);
/// A clock that goes back by more was set back.
const SET_BACK: TimeDelta = TimeDelta::seconds(5);
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// As long as the program's own caches keep what nobody asks for.
const RELEASE_EVERY: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// Runs as long as the process; ends with the task that holds it.
pub async fn run(service: Service) {
    let app = service.app();
    let roles = &service.config().roles;
    let purges = roles.contains(&Role::Scheduler);
    let days = |count: u32| DAY.saturating_mul(count);
    let keep = Retention {
        scans: days(service.config().retention.scans_days),
        request_log: days(service.config().retention.request_log_days),
        plugin_records: days(service.config().retention.plugin_records_days),
    };
    let sweeper = Arc::new(Mutex::new(BlobSweeper::new(app.store.clone())));
    let mut next_sweep = Instant::now();
    let mut next_purge = Instant::now();
    let mut next_renewal = Instant::now() + RENEW_EVERY;
    let mut next_measure = Instant::now();
    let mut next_showing = Instant::now();
    let mut next_correction = Instant::now() + CORRECT_CLOCK_EVERY;
    let mut correction = tokio::spawn(async {});
    let config = service.config();
    let lease = config
        .crawl
        .lease_ms
        .max(config.jobs.lease_ms)
        .as_duration();
    // None: the clock may have been set back while no process ran.
    let mut seen: Option<DateTime<Utc>> = None;
    let mut next_release = Instant::now() + RELEASE_EVERY;
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        let now = app.clock.now();
        app.heartbeat.beat(now);
        let back = seen.map(|seen| seen - now);
        if purges && back.is_none_or(|back| back > SET_BACK) {
            if let Some(back) = back {
                tracing::warn!(seconds = back.num_seconds(), "the clock was set back");
            }
            let app = app.clone();
            tokio::spawn(async move {
                match set_back::mend(&app.crawls, lease).await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(rows, "work that waited for a later time is due"),
                    Err(error) => tracing::warn!(%error, "cannot correct when work is due"),
                }
            });
        }
        seen = Some(now);
        // One at a time, however long the database takes for it.
        if Instant::now() >= next_correction && correction.is_finished() {
            next_correction = Instant::now() + CORRECT_CLOCK_EVERY;
            let app = app.clone();
            correction = tokio::spawn(async move {
                if let Err(error) = app.clock.correct(&app.store).await {
                    tracing::debug!(%error, "cannot ask the database for its time");
                }
            });
        }
        for (cache, bytes) in app.pipeline.cached_bytes().await {
            metrics::gauge!("orbweaver_cache_bytes", "cache" => cache).set(bytes as f64);
        }
        metrics::gauge!("orbweaver_plugins_not_loaded").set(app.actors.overlay.failures() as f64);
        if let Some(metrics) = &app.metrics {
            metrics.run_upkeep();
        }
        if Instant::now() >= next_measure {
            next_measure = Instant::now() + MEASURE_REPLICAS_EVERY;
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = app.store.measure_replicas().await {
                    tracing::debug!(%error, "cannot measure the replicas of the database");
                }
            });
        }
        if app.heartbeat.is_worker() && Instant::now() >= next_showing {
            next_showing = Instant::now() + SHOW_WORKER_EVERY;
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = app.store.show_worker(app.clock.now()).await {
                    tracing::debug!(%error, "cannot record this worker's heartbeat");
                }
            });
        }
        if Instant::now() >= next_renewal {
            next_renewal = Instant::now() + RENEW_EVERY;
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = app.accounts.quota.renew().await {
                    tracing::warn!(%error, "cannot renew quota reservations");
                }
            });
        }
        if Instant::now() >= next_release {
            next_release = Instant::now() + RELEASE_EVERY;
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = app.store.release_memory().await {
                    tracing::debug!(%error, "cannot release the memory of the database's caches");
                }
            });
        }
        if purges && app.store.blobs().is_some() && Instant::now() >= next_sweep {
            next_sweep = Instant::now() + SWEEP_EVERY;
            // A sweep that takes longer goes on; the next one begins after it.
            if let Ok(sweeper) = Arc::clone(&sweeper).try_lock_owned() {
                tokio::spawn(sweep(sweeper));
            }
        }
        if purges && Instant::now() >= next_purge {
            next_purge = Instant::now() + PURGE_EVERY;
            // A separate task, so that a slow database fails its own check and not the worker's.
            let app = app.clone();
            let runs_days = service.config().retention.runs_days;
            tokio::spawn(async move {
                if let Err(error) = jobs::retain(&app.actors, runs_days).await {
                    tracing::warn!(%error, "cannot delete expired runs of actors");
                }
                if let Err(error) = cleanup::retain(&app.crawls).await {
                    tracing::warn!(%error, "cannot delete expired runs");
                }
                match app.store.purge(&keep, app.clock.now()).await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(rows, "deleted expired data"),
                    Err(error) => tracing::warn!(%error, "cannot delete expired data"),
                }
            });
        }
    }
}

/// Keeps a process's clock that of the database, for one that does no other housekeeping.
pub(crate) async fn keep_time(service: &Service) -> Infallible {
    let app = service.app();
    loop {
        tokio::time::sleep(CORRECT_CLOCK_EVERY).await;
        if let Err(error) = app.clock.correct(&app.store).await {
            tracing::debug!(%error, "cannot ask the database for its time");
        }
    }
}

async fn sweep(mut sweeper: OwnedMutexGuard<BlobSweeper>) {
    match sweeper.sweep().await {
        Ok(swept) if swept == Swept::default() => {}
        Ok(swept) => tracing::info!(
            packed = swept.packed,
            rewritten = swept.rewritten,
            orphans = swept.orphans,
            deleted = swept.deleted,
            "swept the blob store"
        ),
        Err(error) => tracing::warn!(%error, "cannot sweep the blob store"),
    }
}
