//! When a run asks other nodes for help, and how its concurrency is divided among them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::super::state::Crawler;
use super::{MAX_GIVEN_UP, Part};

impl Crawler {
    /// Opens a part if the run has more hosts than this node needs, and other nodes took the last
    /// part; whether it did.
    pub(super) async fn ask_for_help(&mut self, now: Instant) -> anyhow::Result<bool> {
        let config = &self.shared.crawls.config;
        let lending = &self.lending;
        let all_taken = lending.parts.values().all(|part| part.is_leased);
        let many = lending.parts.len();
        let hosts = self.window.waiting_hosts();
        let wants = all_taken
            && now >= lending.ask_again
            && many < config.parts
            && lending.given_up < MAX_GIVEN_UP
            && self.rows > 0
            && !self.is_full()
            && self.capped.is_none()
            && hosts >= config.part_hosts.max(2)
            && hosts > many + 1
            && self.window.len() > self.limiter.limit();
        let parts = u32::try_from(many).unwrap_or(u32::MAX - 2);
        let each = self.shared.spec.concurrency.map(|all| all / (parts + 2));
        if !wants || each == Some(0) {
            if self.lending.shrunk.take().is_some() {
                self.divide_concurrency(parts).await?;
            }
            return Ok(false);
        }
        if let Some(each) = each
            && !self.makes_room(each, parts, now).await?
        {
            return Ok(false);
        }
        let shared = Arc::clone(&self.shared);
        let number = self.lending.next_part;
        // Before the first URL is lent: pages of all nodes are committed in order from here on.
        self.handle.has_parts.store(true, Ordering::Release);
        let store = &shared.crawls.store;
        if !store.open_part(shared.lease, number, each).await? {
            return Ok(false);
        }
        self.lending.next_part += 1;
        let part = Part {
            is_leased: false,
            was_leased: false,
            opened: now,
            free_since: now,
            hosts: 0,
            lent: 0,
            number: 0,
            read: 0,
        };
        self.lending.parts.insert(number, part);
        self.lending.shrunk = None;
        Ok(true)
    }

    /// Whether one more part may send `each` requests at once, without more in all than the client
    /// asked for: this node and the `parts` that there are have to send fewer before.
    async fn makes_room(&mut self, each: u32, parts: u32, now: Instant) -> anyhow::Result<bool> {
        match self.lending.shrunk {
            Some((to, ready)) if to == each => {
                Ok(now >= ready && self.requests() <= self.limiter.limit())
            }
            _ => {
                self.divide_concurrency(parts + 1).await?;
                let lease = self.shared.crawls.config.lease_ms.as_duration();
                // A worker learns of it when it extends its lease, or loses that.
                let ready = if parts > 0 { now + lease } else { now };
                self.lending.shrunk = Some((each, ready));
                Ok(false)
            }
        }
    }

    /// Divides the concurrent requests that the client asked for among this node and so many parts.
    pub(super) async fn divide_concurrency(&mut self, parts: u32) -> anyhow::Result<()> {
        let Some(all) = self.shared.spec.concurrency else {
            return Ok(());
        };
        let each = (all / (parts + 1)).max(1);
        self.limiter
            .fix(all.saturating_sub(each.saturating_mul(parts)).max(1));
        if parts > 0 {
            let store = &self.shared.crawls.store;
            store
                .set_part_concurrency(self.shared.lease.run, each)
                .await?;
        }
        Ok(())
    }
}
