//! Background work: heartbeat, renewal of reservations, release of memory, and deletion of expired data.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_api::App;
use orbweaver_store::{BlobSweeper, Retention, Swept};
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use orbweaver_actors::jobs;
use orbweaver_crawl::{cleanup, set_back};

use crate::config::{Config, Role};
use crate::recurring::Recurring;
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

/// Runs as long as the process; ends with the task that holds it. What waits for the database has tasks of
/// its own, so that a slow one fails its own check and not the worker's.
pub async fn run(service: Service) {
    let (app, config) = (service.app(), service.config());
    let purges = config.roles.contains(&Role::Scheduler);
    let sweeper = Arc::new(Mutex::new(BlobSweeper::new(app.store.clone())));
    let lease = config
        .crawl
        .lease_ms
        .max(config.jobs.lease_ms)
        .as_duration();
    let mut correction = Recurring::after(CORRECT_CLOCK_EVERY);
    let mut measuring = Recurring::from_now(MEASURE_REPLICAS_EVERY);
    let mut showing = Recurring::from_now(SHOW_WORKER_EVERY);
    let mut renewal = Recurring::after(RENEW_EVERY);
    let mut release = Recurring::after(RELEASE_EVERY);
    let mut sweeps = Recurring::from_now(SWEEP_EVERY);
    let mut purge = Recurring::from_now(PURGE_EVERY);
    // None: the clock may have been set back while no process ran.
    let mut seen: Option<DateTime<Utc>> = None;
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
            tokio::spawn(mend_times(app.clone(), lease));
        }
        seen = Some(now);
        show_figures(app).await;
        correction.tend(|| correct_clock(app.clone()));
        measuring.tend(|| measure_replicas(app.clone()));
        renewal.tend(|| renew_reservations(app.clone()));
        release.tend(|| release_memory(app.clone()));
        if app.heartbeat.is_worker() {
            showing.tend(|| show_worker(app.clone()));
        }
        if purges && app.store.blobs().is_some() {
            sweeps.tend(|| sweep(Arc::clone(&sweeper)));
        }
        if purges {
            purge.tend(|| delete_expired(app.clone(), kept(config), config.retention.runs_days));
        }
    }
}

/// How long what expires is kept.
fn kept(config: &Config) -> Retention {
    let days = |count: u32| DAY.saturating_mul(count);
    Retention {
        scans: days(config.retention.scans_days),
        request_log: days(config.retention.request_log_days),
        plugin_records: days(config.retention.plugin_records_days),
    }
}

async fn show_figures(app: &App) {
    for (cache, bytes) in app.pipeline.cached_bytes().await {
        metrics::gauge!("orbweaver_cache_bytes", "cache" => cache).set(bytes as f64);
    }
    metrics::gauge!("orbweaver_plugins_not_loaded").set(app.actors.overlay.failures() as f64);
    if let Some(metrics) = &app.metrics {
        metrics.run_upkeep();
    }
}

/// Corrects what waits for a time that a clock which was set back reaches much later.
async fn mend_times(app: App, lease: Duration) {
    match set_back::mend(&app.crawls, lease).await {
        Ok(0) => {}
        Ok(rows) => tracing::info!(rows, "work that waited for a later time is due"),
        Err(error) => tracing::warn!(%error, "cannot correct when work is due"),
    }
}

async fn correct_clock(app: App) {
    if let Err(error) = app.clock.correct(&app.store).await {
        tracing::debug!(%error, "cannot ask the database for its time");
    }
}

async fn measure_replicas(app: App) {
    if let Err(error) = app.store.measure_replicas().await {
        tracing::debug!(%error, "cannot measure the replicas of the database");
    }
}

async fn show_worker(app: App) {
    if let Err(error) = app.store.show_worker(app.clock.now()).await {
        tracing::debug!(%error, "cannot record this worker's heartbeat");
    }
}

async fn renew_reservations(app: App) {
    if let Err(error) = app.accounts.quota.renew().await {
        tracing::warn!(%error, "cannot renew quota reservations");
    }
}

async fn release_memory(app: App) {
    if let Err(error) = app.store.release_memory().await {
        tracing::debug!(%error, "cannot release the memory of the database's caches");
    }
}

async fn delete_expired(app: App, keep: Retention, runs_days: u32) {
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
}

/// Keeps a process's clock that of the database, for one that does no other housekeeping.
pub(crate) async fn keep_time(service: &Service) -> Infallible {
    let app = service.app();
    loop {
        tokio::time::sleep(CORRECT_CLOCK_EVERY).await;
        correct_clock(app.clone()).await;
    }
}

async fn sweep(sweeper: Arc<Mutex<BlobSweeper>>) {
    match sweeper.lock().await.sweep().await {
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
