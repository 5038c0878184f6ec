//! Takes due deliveries and tries them, with limits on concurrency in all and per target: a
//! slow receiver delays only its own deliveries.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt as _;
use orbweaver_accounts::due::Due;
use orbweaver_accounts::fair::may_take;
use orbweaver_accounts::random;
use orbweaver_core::ids::{DeliveryId, ProjectId};
use orbweaver_core::webhook::{Next, RetryPolicy, Verdict};
use orbweaver_store::StoreError;
use orbweaver_store::webhook::{AttemptResult, DueDelivery, TakenDelivery};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::attempt::attempt;
use super::plan::message_id;
use crate::config::WebhooksConfig;
use crate::context::Crawls;

/// Time for the attempts under way when the process stops.
const GRACE: Duration = Duration::from_secs(5);
/// Lease time beyond the attempt's timeout.
const SLACK: TimeDelta = TimeDelta::seconds(10);
/// Wait before pages are tried again whose attempts are used up.
const PAGES_AGAIN: TimeDelta = TimeDelta::minutes(5);
/// How long such pages are tried.
const PAGES_KEPT: TimeDelta = TimeDelta::days(3);
/// Due deliveries read by one query.
const PAGE: usize = 256;

/// Works until [`Webhooks::stop`](super::Webhooks::stop).
#[crate::boxed]
pub async fn run(crawls: Crawls) {
    if !crawls.store.is_shared() {
        // Only the holder of the worker lock delivers, so open attempts are those of a dead
        // process.
        match crawls.store.recover_deliveries(crawls.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "webhooks of the previous process are retried"),
            Err(error) => tracing::warn!(%error, "cannot take over webhook deliveries"),
        }
    }
    let mut worker = Worker {
        node: uuid::Uuid::new_v4().simple().to_string(),
        policy: policy(&crawls.webhook_config),
        busy: HashMap::new(),
        held: HashMap::new(),
        tries: JoinSet::new(),
        crawls: crawls.clone(),
    };
    let mut stop = crawls.webhooks.stops();
    let mut due = Due::new(&crawls.store, &crawls.clock);
    loop {
        let more = tokio::select! {
            () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
            () = due.wait() => true,
            () = crawls.webhooks.woken() => true,
            Some(ended) = worker.tries.join_next() => worker.ended(ended),
        };
        if more {
            let next = worker.take_due().await;
            if let Err(error) = &next {
                tracing::warn!(%error, "cannot look for webhook deliveries");
            }
            due.looked(&next);
        }
    }
    let last = async { while worker.tries.join_next().await.is_some() {} };
    if timeout(GRACE, last).await.is_err() {
        tracing::warn!("webhook deliveries did not end in time; they will be retried");
    }
}

struct Worker {
    crawls: Crawls,
    node: String,
    policy: RetryPolicy,
    /// Open attempts by target.
    busy: HashMap<String, usize>,
    /// Open attempts by project.
    held: HashMap<ProjectId, usize>,
    tries: JoinSet<(String, ProjectId)>,
}

impl Worker {
    /// Records that an attempt ended. Returns whether others may start: the target or the process
    /// was at its limit.
    fn ended(&mut self, ended: Result<(String, ProjectId), tokio::task::JoinError>) -> bool {
        let config = &self.crawls.webhook_config;
        let was_full = self.tries.len() + 1 >= config.concurrent;
        let Ok((target, project)) = ended else {
            // It was aborted: the worker stops.
            return true;
        };
        // A project that had its share may start another attempt now.
        let free = config.concurrent.saturating_sub(self.tries.len() + 1);
        let was_full = was_full || !may_take(self.held(project), free);
        if let Some(held) = self.held.get_mut(&project) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&project);
            }
        }
        let Some(count) = self.busy.get_mut(&target) else {
            return was_full;
        };
        let was_busy = *count >= config.concurrent_per_target;
        *count -= 1;
        if *count == 0 {
            self.busy.remove(&target);
        }
        was_full || was_busy
    }

    fn held(&self, project: ProjectId) -> usize {
        self.held.get(&project).copied().unwrap_or_default()
    }

    /// Takes what is due; when the next delivery is.
    async fn take_due(&mut self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.send_pages().await?;
        self.take().await?;
        let (store, now) = (&self.crawls.store, self.crawls.clock.now());
        let next = [
            store.next_delivery(now).await?,
            store.next_page_feed(now).await?,
        ];
        Ok(next.into_iter().flatten().min())
    }

    /// Writes the deliveries of pages that are due.
    async fn send_pages(&self) -> Result<(), StoreError> {
        loop {
            let now = self.crawls.clock.now();
            let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
            let runs = self.crawls.store.due_page_feeds(now, limit).await?;
            let seen = runs.len();
            for run in runs {
                let message = message_id();
                self.crawls.store.send_pages(run, &message, now).await?;
            }
            if seen < PAGE {
                return Ok(());
            }
        }
    }

    /// Takes as many deliveries as there is room for.
    async fn take(&mut self) -> Result<(), StoreError> {
        let (concurrent, per_target) = {
            let config = &self.crawls.webhook_config;
            (config.concurrent, config.concurrent_per_target)
        };
        loop {
            let room = concurrent.saturating_sub(self.tries.len());
            if room == 0 {
                return Ok(());
            }
            let full: Vec<String> = self
                .busy
                .iter()
                .filter(|(_, count)| **count >= per_target)
                .map(|(target, _)| target.clone())
                .collect();
            let mut at_share: Vec<ProjectId> = self.held.keys().copied().collect();
            at_share.retain(|project| !may_take(self.held(*project), room));
            let now = self.crawls.clock.now();
            let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
            let due = self
                .crawls
                .store
                .due_deliveries(now, &full, &at_share, limit)
                .await?;
            let seen = due.len();
            let chosen = self.choose(due, room, per_target);
            if chosen.is_empty() {
                return Ok(());
            }
            let lease = i64::try_from(self.crawls.webhook_config.timeout_ms.0).unwrap_or(i64::MAX);
            let until = TimeDelta::try_milliseconds(lease)
                .and_then(|lease| now.checked_add_signed(lease + SLACK))
                .unwrap_or(now);
            let taken = self
                .crawls
                .store
                .take_deliveries(&chosen, &self.node, now, until)
                .await?;
            // Another node may have taken all of them.
            let none = taken.deliveries.is_empty();
            for delivery in taken.deliveries {
                *self.busy.entry(delivery.target.clone()).or_default() += 1;
                *self.held.entry(delivery.project).or_default() += 1;
                let (crawls, policy) = (self.crawls.clone(), self.policy.clone());
                self.tries.spawn(async move {
                    // One that panics gives its places back, too; its lease runs out, and it is tried again.
                    let attempt = AssertUnwindSafe(deliver(&crawls, &policy, &delivery));
                    if attempt.catch_unwind().await.is_err() {
                        tracing::error!(delivery = %delivery.id, "an attempt to deliver panicked");
                    }
                    (delivery.target, delivery.project)
                });
            }
            // A delivery that cannot be read has left its place to those behind it.
            if taken.unreadable == 0 && (none || seen < PAGE) {
                return Ok(());
            }
        }
    }

    /// Selects as many of the due deliveries as fit.
    fn choose(&self, due: Vec<DueDelivery>, room: usize, per_target: usize) -> Vec<DeliveryId> {
        choose(&self.busy, &self.held, due, room, per_target)
    }
}

/// Selects as many of the due deliveries as fit, in turns by project: first those of projects
/// with the fewest open attempts; among these the one that waits longest.
fn choose(
    busy: &HashMap<String, usize>,
    held: &HashMap<ProjectId, usize>,
    due: Vec<DueDelivery>,
    mut free: usize,
    per_target: usize,
) -> Vec<DeliveryId> {
    let mut held = held.clone();
    let mut places: Vec<(usize, DueDelivery)> = due
        .into_iter()
        .map(|due| {
            let held = held.entry(due.project).or_default();
            *held += 1;
            (*held - 1, due)
        })
        .collect();
    places.sort_by_key(|(place, _)| *place);
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut chosen = Vec::new();
    for (place, due) in places {
        let before = busy.get(&due.target).copied().unwrap_or_default();
        let count = counts.entry(due.target).or_insert(before);
        if *count < per_target && may_take(place, free) {
            *count += 1;
            free -= 1;
            chosen.push(due.id);
        }
    }
    chosen
}

async fn deliver(crawls: &Crawls, policy: &RetryPolicy, delivery: &TakenDelivery) {
    let attempted = match attempt(crawls, delivery).await {
        Ok(attempted) => attempted,
        Err(error) => {
            tracing::error!(delivery = %delivery.id, %error, "cannot try a webhook delivery");
            return;
        }
    };
    let now = crawls.clock.now();
    let tried = delivery.tried.saturating_add(1);
    let result = match policy.next(tried, attempted.verdict, chance()) {
        Next::Done => AttemptResult::Delivered,
        Next::Dead => match delivery.pages() {
            Some(pages) if is_kept(pages.created_at, attempted.verdict, now) => {
                AttemptResult::Retry(now + PAGES_AGAIN)
            }
            _ => AttemptResult::Dead,
        },
        Next::Retry(wait) => AttemptResult::Retry(
            TimeDelta::from_std(wait)
                .ok()
                .and_then(|wait| now.checked_add_signed(wait))
                .unwrap_or(now),
        ),
    };
    let outcome = match attempted.verdict {
        Verdict::Delivered => "delivered",
        Verdict::Refused => "refused",
        Verdict::Failed { .. } => "failed",
    };
    metrics::counter!("orbweaver_webhook_attempts_total", "outcome" => outcome).increment(1);
    // If the result is not stored, the delivery is retried after the lease: at least once.
    match crawls
        .store
        .settle_delivery(delivery, &attempted.record, result, now)
        .await
    {
        Ok(true) => {
            // The next pages may be due.
            if delivery.pages().is_some() {
                crawls.webhooks.wake();
            }
        }
        Ok(false) => tracing::info!(
            delivery = %delivery.id,
            "a webhook delivery was taken over or deleted; its attempt is not recorded"
        ),
        Err(error) => {
            tracing::warn!(delivery = %delivery.id, %error, "cannot record a webhook attempt");
        }
    }
}

/// Whether pages whose attempts are used up are tried again: their receiver may be away for long,
/// and what follows them waits for them.
fn is_kept(created_at: DateTime<Utc>, verdict: Verdict, now: DateTime<Utc>) -> bool {
    matches!(verdict, Verdict::Failed { .. }) && now - created_at < PAGES_KEPT
}

/// From 0 to 1.
fn chance() -> f64 {
    // Without random numbers retries coincide, which affects only the receiver.
    fastrand::Rng::with_seed(random::seed()).f64()
}

fn policy(config: &WebhooksConfig) -> RetryPolicy {
    RetryPolicy {
        delays: config
            .retry_delays
            .iter()
            .map(|wait| wait.as_duration())
            .collect(),
        max_retry_after: config.max_retry_after.as_duration(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(ids: std::ops::Range<i64>, project: i64) -> Vec<DueDelivery> {
        ids.map(|id| DueDelivery {
            id: DeliveryId(id),
            project: ProjectId(project),
            target: format!("https://{id}.example:443"),
        })
        .collect()
    }

    #[test]
    fn projects_take_turns_and_leave_room_for_the_next_one() {
        let (busy, mut held) = (HashMap::new(), HashMap::new());
        let mut all = due(0..250, 1);
        all.extend(due(250..252, 2));
        let chosen = choose(&busy, &held, all.clone(), 256, 8);
        let ids: Vec<i64> = chosen.iter().take(4).map(|id| id.get()).collect();
        assert_eq!(ids, [0, 250, 1, 251]);
        assert!((190..196).contains(&chosen.len()), "{}", chosen.len());
        // A project at its share gets no more; the other one continues.
        held.insert(ProjectId(1), 192);
        let chosen = choose(&busy, &held, all, 64, 8);
        assert_eq!(chosen, [DeliveryId(250), DeliveryId(251)]);
    }

    #[test]
    fn a_target_has_its_own_limit() {
        let one = |mut due: DueDelivery| {
            due.target = "https://e.org:443".to_owned();
            due
        };
        let all: Vec<DueDelivery> = due(0..20, 1).into_iter().map(one).collect();
        let busy = HashMap::from([("https://e.org:443".to_owned(), 5)]);
        assert_eq!(choose(&busy, &HashMap::new(), all, 256, 8).len(), 3);
    }
}
