//! Work in the background: signs of life, and removing what is past its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use orbweaver_store::Retention;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::app::App;
use crate::config::Role;
use crate::crawl::cleanup;

const BEAT: Duration = Duration::from_secs(1);
const LATE_MS: i64 = 15_000;
const RENEW_EVERY: Duration = Duration::from_secs(60);
const PURGE_EVERY: Duration = Duration::from_secs(600);
const DAY: Duration = Duration::from_secs(86_400);

/// When the background work last gave a sign of life.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<AtomicI64>);

impl Heartbeat {
    /// Notes a sign of life.
    pub fn beat(&self, at: DateTime<Utc>) {
        self.0.store(at.timestamp_millis(), Ordering::Relaxed);
    }

    /// The last one; none in a process without background work.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            ms => DateTime::from_timestamp_millis(ms),
        }
    }

    /// What is wrong, if something is.
    pub fn problem(&self, now: DateTime<Utc>) -> Option<&'static str> {
        let late = self
            .last()
            .is_some_and(|last| (now - last).num_milliseconds() > LATE_MS);
        late.then_some("no sign of life for more than 15 seconds")
    }
}

/// Runs for as long as the process does; ends with the task that holds it.
pub async fn run(app: App) {
    let roles = app.config.roles().unwrap_or_default();
    let purges = roles.contains(&Role::Scheduler);
    let days = |count: u32| DAY.saturating_mul(count);
    let keep = Retention {
        scans: days(app.config.retention.scans_days),
        request_log: days(app.config.retention.request_log_days),
    };
    let mut next_purge = Instant::now();
    let mut next_renewal = Instant::now() + RENEW_EVERY;
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        app.heartbeat.beat(app.clock.now());
        if let Some(metrics) = &app.metrics {
            metrics.run_upkeep();
        }
        if Instant::now() >= next_renewal {
            next_renewal = Instant::now() + RENEW_EVERY;
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = app.quota.renew().await {
                    tracing::warn!(%error, "cannot renew what is reserved of quotas");
                }
            });
        }
        if purges && Instant::now() >= next_purge {
            next_purge = Instant::now() + PURGE_EVERY;
            // Apart, so that a slow database shows in its own check and not as a dead worker.
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = cleanup::retain(&app).await {
                    tracing::warn!(%error, "cannot delete runs that are past their time");
                }
                match app.store.purge(&keep, app.clock.now()).await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(rows, "removed what is past its time"),
                    Err(error) => tracing::warn!(%error, "cannot remove what is past its time"),
                }
            });
        }
    }
}
