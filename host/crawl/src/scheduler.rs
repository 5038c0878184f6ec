//! Fires monitors that are due, and lets runs begin that wait for a place of their project.
//!
//! Every node with the role `scheduler` looks for them; the database ensures that each fires
//! once ([`Store::fire_monitor`](orbweaver_store::Store::fire_monitor)). If there is no free run
//! slot, or the monitor's last run has not ended, it waits. Runs missed while no scheduler ran,
//! or while the monitor waited, are made up for by one run. What waits for a slot of its project gets it
//! in the order in which it began to wait: fires by their time, queued runs by when they were accepted.

use chrono::{DateTime, Utc};
use orbweaver_accounts::due::Due;
use orbweaver_core::cron::Schedule;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::StoreError;
use orbweaver_store::monitors::{DueMonitor, Fired, MonitorChange, NextFire};

use crate::context::Crawls;

/// Fires of one look, so that no look lasts long; the next one follows at once.
const FIRES: usize = 64;

/// Runs for as long as the process does; ends with the task that holds it. Sleeps until the
/// next fire is due or the database changes: a fire that waits for a free run slot, or for its
/// monitor's last run, finds it by a change.
#[crate::boxed]
pub async fn run(crawls: Crawls) {
    let mut due = Due::new(&crawls.store, &crawls.clock);
    loop {
        due.wait().await;
        let next = fire_all(&crawls).await;
        if let Err(error) = &next {
            tracing::warn!(%error, "cannot fire monitors");
        }
        due.looked(&next);
    }
}

/// Fires all that is due; when the next monitor is, none without a monitor that will be.
async fn fire_all(crawls: &Crawls) -> Result<Option<DateTime<Utc>>, StoreError> {
    while tick(crawls).await? >= FIRES {
        tokio::task::yield_now().await;
    }
    crawls.store.next_fire(crawls.clock.now()).await
}

/// Fires what is due, and lets runs begin that wait; how many fires it looked into.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn tick(crawls: &Crawls) -> Result<usize, StoreError> {
    let now = crawls.clock.now();
    let held = crawls.store.projects_with_held_runs().await?;
    let mut fires = 0;
    for due in crawls.store.due_projects(now).await? {
        let has_held = held.iter().any(|(project, _)| *project == due.project);
        let cap = crawls.quota.tier(&due.tier).concurrent_runs.0;
        let room = cap.map_or(FIRES, |cap| {
            usize::try_from(cap.saturating_sub(due.active)).unwrap_or(FIRES)
        });
        let limit = room.min(FIRES - fires);
        if limit == 0 {
            continue;
        }
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        for monitor in crawls.store.due_monitors(due.project, now, limit).await? {
            if has_held {
                admit(crawls, due.project, cap, Some(monitor.fire_at)).await?;
            }
            fires += 1;
            if !fire(crawls, due.project, &monitor, cap, now).await? {
                break;
            }
        }
        if fires >= FIRES {
            // The fires that are left may wait for longer than runs do.
            return Ok(fires);
        }
    }
    for (project, tier) in held {
        let cap = crawls.quota.tier(&tier).concurrent_runs.0;
        admit(crawls, project, cap, None).await?;
    }
    Ok(fires)
}

/// Lets runs of a project begin that wait for a slot, as far as there is room: those accepted until `until`.
async fn admit(
    crawls: &Crawls,
    project: ProjectId,
    cap: Option<u64>,
    until: Option<DateTime<Utc>>,
) -> Result<(), StoreError> {
    let admitted = crawls.store.admit_held_runs(project, cap, until).await?;
    if admitted > 0 {
        crawls.live.wake();
    }
    Ok(())
}

/// Fires one monitor; `false` if its project has no free run slot. One that the database refuses to fire
/// waits for its next time, so that it does not keep all others from firing.
async fn fire(
    crawls: &Crawls,
    project: ProjectId,
    due: &DueMonitor,
    cap: Option<u64>,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let Ok(schedule) = Schedule::parse(&due.schedule) else {
        tracing::error!(monitor.id = %due.id, "a monitor's schedule is damaged; it is paused");
        let pause = MonitorChange {
            next_fire: NextFire::Never,
            ..MonitorChange::default()
        };
        crawls.store.change_monitor(project, due.id, &pause).await?;
        return Ok(true);
    };
    let next = schedule.next_after(now);
    let fired = crawls.store.fire_monitor(project, due, next, cap, now);
    let fired = match fired.await {
        Err(error) if !error.is_transient() => {
            tracing::error!(monitor.id = %due.id, %error, "a monitor cannot fire; this fire is left out");
            crawls.store.put_off_monitor(project, due, next).await?;
            return Ok(true);
        }
        fired => fired?,
    };
    match fired {
        Fired::Started(run) => {
            metrics::counter!("orbweaver_monitor_fires_total").increment(1);
            tracing::debug!(monitor.id = %due.id, run.id = %run, "a monitor fired");
            crawls.live.wake();
            Ok(true)
        }
        Fired::CapReached => Ok(false),
        Fired::Gone => Ok(true),
    }
}
