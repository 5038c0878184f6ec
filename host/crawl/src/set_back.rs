//! What is due after a clock was set back: by NTP, by hand, with a virtual machine that was resumed, or while no
//! process ran. What was stored by the clock that was ahead would wait for as long as it was ahead.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::cron::Schedule;
use orbweaver_store::StoreError;
use orbweaver_store::monitors::DueMonitor;

use crate::context::Crawls;

/// A clock that is set back by less makes nothing wait for long, and monitors would fire twice.
const TOLERANCE: TimeDelta = TimeDelta::minutes(1);
/// The longest that a lease is ahead, if leases are shorter: exports wait between their attempts.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(5);
/// Monitors read at a time.
const PAGE: u32 = 500;

/// Brings nearer what lies further ahead than any clock that is right would have put it; how much that was.
/// `lease` is the longest time for which work is leased.
///
/// # Errors
/// When the database fails.
#[crate::boxed]
pub async fn mend(crawls: &Crawls, lease: Duration) -> Result<u64, StoreError> {
    let now = crawls.clock.now();
    let lease = TimeDelta::from_std(lease).unwrap_or(LONGEST_WAIT);
    let latest = now + (lease * 2).max(LONGEST_WAIT);
    let waits = crawls.store.bound_waits(now, latest).await?;
    Ok(waits + mend_monitors(crawls).await?)
}

/// A monitor's next fire is never behind the first one after now.
async fn mend_monitors(crawls: &Crawls) -> Result<u64, StoreError> {
    let now = crawls.clock.now();
    let (mut after, mut mended) = (None, 0);
    loop {
        let waiting = crawls.store.waiting_monitors(now, after, PAGE).await?;
        let Some((_, last)) = waiting.last() else {
            return Ok(mended);
        };
        after = Some(last.id);
        for (project, monitor) in &waiting {
            let Ok(schedule) = Schedule::parse(&monitor.schedule) else {
                continue;
            };
            if is_too_late(&schedule, monitor, now + TOLERANCE) {
                let next = schedule.next_after(now);
                crawls
                    .store
                    .put_off_monitor(*project, monitor, next)
                    .await?;
                mended += 1;
            }
        }
    }
}

fn is_too_late(schedule: &Schedule, monitor: &DueMonitor, now: DateTime<Utc>) -> bool {
    schedule
        .next_after(now)
        .is_some_and(|next| monitor.fire_at > next)
}
