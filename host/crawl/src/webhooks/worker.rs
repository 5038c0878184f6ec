//! Takes deliveries that are due and tries them, so many at once in all and so many at once
//! per target: a receiver that is slow holds up its own deliveries only.

use std::collections::HashMap;
use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_accounts::random;
use orbweaver_core::ids::DeliveryId;
use orbweaver_core::webhook::{Next, RetryPolicy, Verdict};
use orbweaver_store::StoreError;
use orbweaver_store::webhook::{AttemptResult, TakenDelivery};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::attempt::attempt;
use crate::config::WebhooksConfig;
use crate::context::Crawls;

/// How often the worker looks for deliveries that are due.
const LOOK: Duration = Duration::from_millis(250);
/// Time for the attempts under way when the process stops.
const GRACE: Duration = Duration::from_secs(5);
/// Lease time beyond the attempt's timeout.
const SLACK: TimeDelta = TimeDelta::seconds(10);
/// Deliveries looked at in one query.
const PAGE: usize = 256;

/// Works until [`Webhooks::stop`](super::Webhooks::stop).
pub async fn run(crawls: Crawls) {
    if !crawls.store.is_shared() {
        // Whoever has the worker's seat delivers alone, so what was being tried was tried by
        // a process that died.
        match crawls.store.recover_deliveries(crawls.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "webhooks of the process before are tried again"),
            Err(error) => tracing::warn!(%error, "cannot take over webhook deliveries"),
        }
    }
    let mut worker = Worker {
        node: uuid::Uuid::new_v4().simple().to_string(),
        policy: policy(&crawls.webhook_config),
        busy: HashMap::new(),
        tries: JoinSet::new(),
        crawls: crawls.clone(),
    };
    let mut stop = crawls.webhooks.stops();
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let more = tokio::select! {
            () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
            _ = look.tick() => true,
            () = crawls.webhooks.woken() => true,
            Some(ended) = worker.tries.join_next() => worker.ended(ended),
        };
        if more && let Err(error) = worker.take().await {
            tracing::warn!(%error, "cannot look for webhook deliveries");
        }
    }
    let last = async { while worker.tries.join_next().await.is_some() {} };
    if timeout(GRACE, last).await.is_err() {
        tracing::warn!("webhook deliveries did not end in time; they will be tried again");
    }
}

struct Worker {
    crawls: Crawls,
    node: String,
    policy: RetryPolicy,
    /// Attempts under way by target.
    busy: HashMap<String, usize>,
    tries: JoinSet<String>,
}

impl Worker {
    /// Notes that an attempt ended. Whether it makes room for others: its target, or the
    /// process, did what it could.
    fn ended(&mut self, ended: Result<String, tokio::task::JoinError>) -> bool {
        let config = &self.crawls.webhook_config;
        let was_full = self.tries.len() + 1 >= config.concurrent;
        let Ok(target) = ended else {
            // Nobody knows whose it was: the counts are made anew when all have ended.
            if self.tries.is_empty() {
                self.busy.clear();
            }
            return true;
        };
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
            let now = self.crawls.clock.now();
            let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
            let due = self.crawls.store.due_deliveries(now, &full, limit).await?;
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
            // Another node may have been quicker with all of them.
            let none = taken.is_empty();
            for delivery in taken {
                *self.busy.entry(delivery.target.clone()).or_default() += 1;
                let (crawls, policy) = (self.crawls.clone(), self.policy.clone());
                self.tries.spawn(async move {
                    deliver(&crawls, &policy, &delivery).await;
                    delivery.target
                });
            }
            if none || seen < PAGE {
                return Ok(());
            }
        }
    }

    /// As many of the due deliveries as fit, the one that waits longest first.
    fn choose(
        &self,
        due: Vec<(DeliveryId, String)>,
        room: usize,
        per_target: usize,
    ) -> Vec<DeliveryId> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        due.into_iter()
            .filter_map(|(id, target)| {
                let busy = self.busy.get(&target).copied().unwrap_or_default();
                let count = counts.entry(target).or_insert(busy);
                (*count < per_target).then(|| {
                    *count += 1;
                    id
                })
            })
            .take(room)
            .collect()
    }
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
        Next::Dead => AttemptResult::Dead,
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
    // What is not kept here is tried again when the lease has run out: at least once.
    match crawls
        .store
        .settle_delivery(delivery, &attempted.record, result, now)
        .await
    {
        Ok(true) => {}
        Ok(false) => tracing::info!(
            delivery = %delivery.id,
            "a webhook delivery was taken over or is gone; its attempt is not kept"
        ),
        Err(error) => {
            tracing::warn!(delivery = %delivery.id, %error, "cannot keep a webhook attempt");
        }
    }
}

/// From 0 to 1.
fn chance() -> f64 {
    // Without randomness deliveries return together, which is no harm but to the receiver.
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
