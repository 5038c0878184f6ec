//! What a project may still use: caps by tier, and pages set aside before work begins.
//!
//! Whoever does chargeable work reserves first, so that parallel work cannot overshoot a
//! cap, and bills what came of it through the reservation:
//!
//! ```no_run
//! # use orbweaver_accounts::quota::{Quota, QuotaError};
//! # use orbweaver_store::{Amount, Store};
//! # use orbweaver_core::ids::ProjectId;
//! # async fn example(quota: Quota, store: Store, project: ProjectId) -> Result<(), QuotaError> {
//! // All or nothing: one page, before it is fetched.
//! let mut reserved = quota.reserve(project, Amount::pages(1)).await?;
//! // … fetch …
//! let usage = reserved.usage("request:4711", "scan", Amount::pages(1), 0);
//! store.bill(usage).await?; // or, with a page, Store::save_page(page, Some(usage))
//!
//! // A block for a crawl: as many as the caps leave, at least one.
//! let mut block = match quota.reserve_up_to(project, Amount::pages(64)).await {
//!     Ok(block) => block,
//!     Err(QuotaError::Capped(cap)) => {
//!         println!("the run ends here: {cap}"); // its error_message
//!         return Ok(());
//!     }
//!     Err(error) => return Err(error),
//! };
//! while block.left().pages > 0 && quota.is_current(&block) {
//!     // … fetch a page; the store's transaction that commits it bills `usage` …
//!     let usage = block.usage("run:7:page:1", "crawl", Amount::pages(1), 0);
//!     # store.bill(usage).await?;
//! }
//! // Dropped, a reservation gives back what is left of it.
//! # Ok(())
//! # }
//! ```
//!
//! A reservation is renewed for as long as it lives in this process and ends by itself some
//! minutes after the process died. A project without caps reserves without the database.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Datelike as _, Months, NaiveTime, TimeDelta, Utc};
use moka::sync::Cache;
use orbweaver_core::ids::{ProjectId, ReservationId};
use orbweaver_store::{Amount, Ask, Granted, NewUsage, PageCap, PageCaps, Store, StoreError};
use parking_lot::Mutex;

use super::registry::Registry;
use crate::clock::Clock;
use crate::tiers::{Cap, TierConfig, Tiers};

/// How long what a dead process held still counts.
const TTL: TimeDelta = TimeDelta::minutes(5);
/// Projects whose tier is remembered.
const REMEMBERED: u64 = 10_000;

/// A cap is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapReached {
    /// Which.
    pub cap: PageCap,
    /// Seconds until pages are to be had again: to midnight UTC, or to the month's end.
    pub retry_after_seconds: u64,
}

impl CapReached {
    fn at(cap: PageCap, now: DateTime<Utc>) -> Self {
        Self {
            cap,
            retry_after_seconds: wait(cap, now),
        }
    }
}

impl fmt::Display for CapReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.cap {
            PageCap::Day => "daily page cap exceeded",
            PageCap::Month => "monthly page cap exceeded",
            PageCap::CloudDay => "daily cloud page cap exceeded",
        })
    }
}

/// Why nothing is set aside.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    /// 429, or the end of a run.
    #[error("{0}")]
    Capped(CapReached),
    /// 403: the operator suspended the project (or it is gone).
    #[error("the project is suspended")]
    Suspended,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What projects may use. Cheap to clone.
#[derive(Clone)]
pub struct Quota(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    registry: Registry,
    tiers: Tiers,
    known: Cache<ProjectId, Known>,
    live: Mutex<BTreeSet<ReservationId>>,
}

#[derive(Clone, Copy)]
struct Known {
    generation: u64,
    /// None: suspended, or no such project.
    tier: Option<TierConfig>,
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quota")
    }
}

impl Quota {
    /// By the configuration's tiers.
    pub fn new(tiers: Tiers, store: Store, clock: Clock, registry: Registry) -> Self {
        Self(Arc::new(Inner {
            store,
            clock,
            registry,
            tiers,
            known: Cache::new(REMEMBERED),
            live: Mutex::new(BTreeSet::new()),
        }))
    }

    /// What a tier allows. A tier that the configuration no longer knows allows what `free`
    /// does, and without that nothing.
    pub fn tier(&self, name: &str) -> TierConfig {
        let tiers = &self.0.tiers;
        if let Some(tier) = tiers.get(name) {
            return *tier;
        }
        tracing::warn!(tier = name, "a project is on a tier that is not configured");
        tiers.get("free").copied().unwrap_or(TierConfig {
            pages_per_day: Cap::at(0),
            pages_per_month: Cap::at(0),
            cloud_pages_per_day: Cap::at(0),
            concurrent_runs: Cap::at(0),
            monitors: Cap::at(0),
            aggressive: false,
            max_run_seconds: None,
        })
    }

    /// What a project may use now: a change of its tier shows within half a second.
    ///
    /// # Errors
    /// [`QuotaError::Suspended`], or the database.
    #[crate::boxed]
    pub async fn caps(&self, project: ProjectId) -> Result<TierConfig, QuotaError> {
        let inner = &self.0;
        let generation = inner.registry.generation().await?;
        let known = inner.known.get(&project);
        let tier = match known.filter(|known| known.generation == generation) {
            Some(known) => known.tier,
            None => {
                let tier = inner.store.active_tier(project).await?;
                let tier = tier.map(|tier| self.tier(&tier));
                inner.known.insert(project, Known { generation, tier });
                tier
            }
        };
        tier.ok_or(QuotaError::Suspended)
    }

    /// Sets pages aside, all of `want` or nothing.
    ///
    /// # Errors
    /// The cap that leaves too little.
    #[crate::boxed]
    pub async fn reserve(
        &self,
        project: ProjectId,
        want: Amount,
    ) -> Result<Reservation, QuotaError> {
        self.ask(project, want, false).await
    }

    /// Sets pages aside, as many of `want` as the caps leave, at least one. `want` has pages
    /// of one kind only.
    ///
    /// # Errors
    /// The cap that leaves nothing.
    #[crate::boxed]
    pub async fn reserve_up_to(
        &self,
        project: ProjectId,
        want: Amount,
    ) -> Result<Reservation, QuotaError> {
        self.ask(project, want, true).await
    }

    /// As [`reserve`](Self::reserve), for a call that may be a retry: what is billed under
    /// `token` already is done again even at a cap, since it costs nothing more.
    ///
    /// # Errors
    /// The cap that leaves too little.
    #[crate::boxed]
    pub async fn reserve_for(
        &self,
        project: ProjectId,
        want: Amount,
        token: &str,
    ) -> Result<Reservation, QuotaError> {
        match self.reserve(project, want).await {
            Err(QuotaError::Capped(cap)) => {
                let tokens = [token.to_owned()];
                let billed = self.0.store.billed_tokens(project, &tokens).await?;
                if billed.is_empty() {
                    return Err(QuotaError::Capped(cap));
                }
                Ok(Reservation::free(project, want, self.0.clock.now()))
            }
            done => done,
        }
    }

    /// A page for each of these tokens, as far as the caps reach: in order, each its share or
    /// the cap. Tokens that are billed already have theirs.
    ///
    /// # Errors
    /// [`QuotaError::Suspended`], or the database; never [`QuotaError::Capped`].
    #[crate::boxed]
    pub async fn reserve_each(
        &self,
        project: ProjectId,
        tokens: &[String],
    ) -> Result<Vec<Result<Reservation, CapReached>>, QuotaError> {
        let want = Amount::pages(tokens.len() as u64);
        let (mut block, cap) = match self.reserve_up_to(project, want).await {
            Ok(block) => {
                let cap = block.short;
                (Some(block), cap)
            }
            Err(QuotaError::Capped(cap)) => (None, Some(cap)),
            Err(error) => return Err(error),
        };
        let billed = match cap {
            None => Vec::new(),
            Some(_) => self.0.store.billed_tokens(project, tokens).await?,
        };
        let now = self.0.clock.now();
        let one = Amount::pages(1);
        Ok(tokens
            .iter()
            .map(|token| {
                if billed.contains(token) {
                    return Ok(Reservation::free(project, one, now));
                }
                match (block.as_mut().filter(|block| block.left().pages > 0), cap) {
                    (None, Some(cap)) => Err(cap),
                    (None, None) => Ok(Reservation::free(project, one, now)),
                    (Some(block), _) => Ok(block.split(one)),
                }
            })
            .collect())
    }

    async fn ask(
        &self,
        project: ProjectId,
        want: Amount,
        partial: bool,
    ) -> Result<Reservation, QuotaError> {
        let inner = &self.0;
        let tier = self.caps(project).await?;
        let now = inner.clock.now();
        let caps = PageCaps {
            day: tier.pages_per_day.0,
            month: tier.pages_per_month.0,
            cloud_day: tier.cloud_pages_per_day.0,
        };
        if caps.are_none() || want.is_zero() {
            return Ok(Reservation::free(project, want, now));
        }
        let ask = Ask {
            want,
            partial,
            now,
            expires: now + TTL,
        };
        match inner.store.reserve(project, &caps, &ask).await? {
            Granted::Some(id, left, short) => {
                inner.live.lock().insert(id);
                Ok(Reservation {
                    project,
                    left,
                    at: now,
                    short: short.map(|cap| CapReached::at(cap, now)),
                    held: Some(Arc::new(Held {
                        id,
                        quota: self.clone(),
                    })),
                })
            }
            Granted::Capped(cap) => Err(QuotaError::Capped(CapReached::at(cap, now))),
        }
    }

    /// Whether a reservation is of today. Work that crosses midnight (UTC) drops the old one
    /// and reserves anew, so that the new day pays.
    pub fn is_current(&self, reservation: &Reservation) -> bool {
        reservation.at.date_naive() == self.0.clock.now().date_naive()
    }

    /// Keeps what this process holds from ending. Called every minute.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn renew(&self) -> Result<(), StoreError> {
        let live: Vec<ReservationId> = self.0.live.lock().iter().copied().collect();
        self.0.store.renew(&live, self.0.clock.now() + TTL).await
    }
}

/// Pages set aside. Dropped, it gives back what is left.
#[derive(Debug)]
#[must_use = "dropped, it gives the pages back"]
pub struct Reservation {
    project: ProjectId,
    left: Amount,
    at: DateTime<Utc>,
    short: Option<CapReached>,
    held: Option<Arc<Held>>,
}

/// The row in the database, shared by the parts of a reservation.
struct Held {
    id: ReservationId,
    quota: Quota,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", self.id)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.quota.0.live.lock().remove(&self.id);
    }
}

impl Reservation {
    /// One that nobody counts: for work that is billed already.
    pub fn free(project: ProjectId, amount: Amount, at: DateTime<Utc>) -> Self {
        Self {
            project,
            left: amount,
            at,
            short: None,
            held: None,
        }
    }

    /// What is set aside and not billed yet.
    pub const fn left(&self) -> Amount {
        self.left
    }

    /// The cap that made this less than was asked for.
    pub const fn short(&self) -> Option<CapReached> {
        self.short
    }

    /// Takes a part into a reservation of its own, at most what is left.
    pub fn split(&mut self, part: Amount) -> Self {
        let rest = self.left.less(part);
        let part = self.left.less(rest);
        self.left = rest;
        Self {
            project: self.project,
            left: part,
            at: self.at,
            short: self.short,
            held: self.held.clone(),
        }
    }

    /// The usage event of work that was done, to be stored with what it paid for. It counts
    /// for the day of the reservation. The same work done again has the same token and is
    /// billed once. More than is left is billed, too: what was done was done.
    pub fn usage(
        &mut self,
        token: impl Into<String>,
        call: &'static str,
        amount: Amount,
        cost_micros: u64,
    ) -> NewUsage {
        self.left = self.left.less(amount);
        NewUsage {
            project: self.project,
            token: token.into(),
            call,
            pages: amount.pages,
            cloud_pages: amount.cloud_pages,
            cost_micros,
            at: self.at,
            reservation: self.held.as_ref().map(|held| held.id),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(held) = &self.held
            && !self.left.is_zero()
        {
            held.quota.0.store.release(held.id, self.left);
        }
    }
}

/// Seconds, at least 1, until a cap begins anew.
fn wait(cap: PageCap, now: DateTime<Utc>) -> u64 {
    let today = now.date_naive();
    let then = match cap {
        PageCap::Day | PageCap::CloudDay => today.succ_opt(),
        PageCap::Month => today
            .with_day(1)
            .and_then(|first| first.checked_add_months(Months::new(1))),
    };
    let end = then.map_or(now, |day| day.and_time(NaiveTime::MIN).and_utc());
    // The part of a second that is left is a second, too: nobody shall come too early.
    let millis = (end - now).num_milliseconds().max(1);
    u64::try_from(millis).unwrap_or(1).div_ceil(1_000)
}

/// Seconds to the next midnight UTC.
pub fn seconds_to_midnight(now: DateTime<Utc>) -> u64 {
    wait(PageCap::Day, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_at_midnight_and_at_the_months_end() {
        for (now, day, month) in [
            ("2026-03-01T12:00:00Z", 43_200, 30 * 86_400 + 43_200),
            ("2026-12-31T23:59:59.500Z", 1, 1),
            ("2026-02-28T00:00:00Z", 86_400, 86_400),
        ] {
            let now = now.parse().unwrap();
            assert_eq!(wait(PageCap::Day, now), day, "{now}");
            assert_eq!(wait(PageCap::CloudDay, now), day, "{now}");
            assert_eq!(wait(PageCap::Month, now), month, "{now}");
        }
    }
}
