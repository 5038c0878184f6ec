//! Follows uploads and removals made by other nodes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_engine::PluginInfo;
use orbweaver_store::{PluginKey, StoreError, Topic};
use tokio::time::{Instant, sleep, sleep_until};

use super::known::{Target, Todo};
use super::overlay::{kind, settle, wanted};
use crate::context::Actors;

/// Least time between two checks: half the time in which an upload must reach a node.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Follows the uploads as long as the process lives. Sleeps until the database changes, or an upload
/// that did not load is tried again.
#[crate::boxed]
pub async fn watch(actors: Actors) {
    let mut changes = actors.store.watch_changes();
    let mut notices = actors.store.notices(Topic::Plugins);
    let mut failing = false;
    loop {
        if !failing {
            let retry = actors.overlay.next_retry();
            tokio::select! {
                () = changes.changed() => {}
                Ok(()) = notices.changed() => {}
                () = at(retry) => {}
            }
        }
        let done = follow(&actors, false).await;
        if let Err(error) = &done
            && !failing
        {
            tracing::warn!(%error, "cannot update uploaded plugins");
        }
        failing = done.is_err();
        // An upload that a node tells of is followed at once.
        tokio::select! {
            () = sleep(POLL_INTERVAL) => {}
            Ok(()) = notices.changed() => {}
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// An upload to look at again.
struct Stale {
    key: PluginKey,
    /// What should serve; `None` for one that is gone.
    target: Option<Target>,
    /// Whether it is as it was when it did not load, or served. Calls do not wait for it.
    is_retry: bool,
}

/// Updates the engine from the database. Waits for the instance's plugins if `wait`; those of
/// projects are loaded in the background, and their calls wait for them.
///
/// # Errors
/// When the database fails.
#[crate::boxed]
pub async fn follow(actors: &Actors, wait: bool) -> Result<(), StoreError> {
    let overlay = &actors.overlay;
    let version = actors.store.plugins_version().await?;
    let now = Instant::now();
    let retries = overlay.next_retry().is_some_and(|at| at <= now);
    let is_changed = version != overlay.followed.load(Ordering::Acquire);
    if !is_changed && !retries {
        return Ok(());
    }
    let uploads = actors.store.uploaded_plugins().await?;
    let mut targets: HashMap<PluginKey, Target> = HashMap::new();
    for upload in &uploads {
        if kind(&upload.key.kind).is_none() {
            let kind = &upload.key.kind;
            tracing::warn!(kind, "uploaded plugin is of an unknown kind; skipped");
        } else if let Some(target) = wanted(actors, upload) {
            targets.insert(upload.key.clone(), target);
        }
    }
    let changing = overlay.changing();
    let mut gone: HashSet<PluginKey> = overlay.known.others(&targets).into_iter().collect();
    // One that is loaded for the first time is not known yet.
    let others = changing.iter().filter(|key| !targets.contains_key(key));
    gone.extend(others.cloned());
    let mut stale: BTreeMap<Option<ProjectId>, Vec<Stale>> = BTreeMap::new();
    let gone = gone.into_iter().map(|key| (key, None, Todo::Load));
    let changed = targets.into_iter().map(|(key, target)| {
        let todo = overlay.known.todo(&key, &target, now);
        (key, Some(target), todo)
    });
    for (key, target, todo) in gone.chain(changed) {
        let is_changing = changing.contains(&key);
        // What is being loaded may be what should have served before.
        let is_again = todo == Todo::Nothing && is_changing && is_changed;
        let is_retry = todo == Todo::Retry || (target.is_none() && !is_changed);
        // One that is being tried needs no second try.
        if (todo == Todo::Nothing && !is_again) || (is_retry && is_changing) {
            continue;
        }
        let of_owner = stale.entry(key.project).or_default();
        of_owner.push(Stale {
            key,
            target,
            is_retry: is_retry || is_again,
        });
    }
    overlay.followed.store(version, Ordering::Release);
    let instance = stale.remove(&None).unwrap_or_default();
    let instance: Vec<_> = instance
        .into_iter()
        .map(|stale| {
            let actors = actors.clone();
            tokio::spawn(async move { settle_in_turn(&actors, &stale.key, stale.target).await })
        })
        .collect();
    for (project, stale) in stale {
        let engine = &actors.pipeline.engine;
        for Stale { key, .. } in stale.iter().filter(|stale| !stale.is_retry) {
            if let (Some(project), Some(kind)) = (project, kind(&key.kind)) {
                let own = engine.of_project(project).own_plugins();
                let serves = |plugin: &PluginInfo| plugin.kind == kind && plugin.name == key.name;
                if !own.iter().any(serves) {
                    engine.expect_for_project(project, kind, &key.name);
                }
            }
        }
        let actors = actors.clone();
        let owners = Arc::clone(&overlay.owners);
        tokio::spawn(async move {
            let _slot = owners.acquire_owned().await;
            for Stale { key, target, .. } in stale {
                settle_in_turn(&actors, &key, target).await;
                if let (Some(project), Some(kind)) = (key.project, kind(&key.kind)) {
                    let engine = &actors.pipeline.engine;
                    engine.give_up_for_project(project, kind, &key.name);
                }
            }
        });
    }
    if wait {
        for update in instance {
            // A task that panicked has logged it.
            let _ = update.await;
        }
    }
    Ok(())
}

async fn settle_in_turn(actors: &Actors, key: &PluginKey, target: Option<Target>) {
    let _turn = actors.overlay.turn(key).await;
    settle(actors, key, target).await;
}
