//! Quota: caps by tier, and reservation of pages before work begins.
//!
//! Chargeable work reserves its pages first, so that parallel work cannot exceed a cap. It
//! then bills the pages it used through the reservation:
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
//! A reservation is renewed while it lives in this process, and expires some minutes after the
//! process died. A project without caps reserves without using the database.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Datelike as _, Months, NaiveTime, TimeDelta, Utc};
use moka::sync::Cache;
use orbweaver_core::ids::{ProjectId, ReservationId};
use orbweaver_store::{
    Amount, NewUsage, PageCap, PageCaps, ReachedCap, ReservationRequest, ReservationResult, Store,
    StoreError,
};
use parking_lot::Mutex;

use super::registry::Registry;
use crate::clock::Clock;
use crate::tiers::{Cap, PluginCaps, TierConfig, Tiers};

/// How long a reservation of a dead process still counts.
const TTL: TimeDelta = TimeDelta::minutes(5);
/// Seconds after which other work may have returned pages that it has set aside: a call lasts no
/// longer, and a crawl sets few aside at a time.
const RETURNED: u64 = 30;
/// Number of projects whose tier is cached.
const REMEMBERED: u64 = 10_000;

/// A cap is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapReached {
    /// The cap.
    pub cap: PageCap,
    /// Whether billed pages alone reach it. If not, pages that other work has set aside do, which it
    /// may give back.
    pub is_billed: bool,
    /// Seconds until the cap starts anew: at midnight UTC, or at the end of the month. If pages that are
    /// set aside in advance reach it, until another try is worth it.
    pub retry_after_seconds: u64,
}

impl CapReached {
    fn at(reached: ReachedCap, now: DateTime<Utc>) -> Self {
        let most = if reached.is_held_ahead {
            RETURNED
        } else {
            u64::MAX
        };
        Self {
            cap: reached.cap,
            is_billed: reached.is_billed,
            retry_after_seconds: wait(reached.cap, now).min(most),
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

/// Why pages cannot be reserved.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    /// 429, or the end of a crawl run.
    #[error("{0}")]
    Capped(CapReached),
    /// 403: the operator suspended the project, or it no longer exists.
    #[error("the project is suspended")]
    Suspended,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks caps and reserves pages. Cheap to clone.
#[derive(Clone)]
pub struct Quota(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    registry: Registry,
    tiers: Tiers,
    known: Cache<ProjectId, KnownProject>,
    live: Mutex<BTreeSet<ReservationId>>,
}

#[derive(Clone, Copy)]
struct KnownProject {
    generation: u64,
    /// `None`: the project is suspended or does not exist.
    tier: Option<TierConfig>,
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quota")
    }
}

impl Quota {
    /// Creates it with the configured tiers.
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

    /// The caps of a tier. A tier that is no longer configured has the caps of `free`; if `free`
    /// is not configured either, it allows nothing.
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
            plugins: PluginCaps::default(),
        })
    }

    /// The caps of a project. A change of its tier takes effect within half a second.
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
                inner
                    .known
                    .insert(project, KnownProject { generation, tier });
                tier
            }
        };
        tier.ok_or(QuotaError::Suspended)
    }

    /// Reserves all of `want`, or nothing.
    ///
    /// # Errors
    /// [`QuotaError::Capped`] with the cap that leaves too little.
    #[crate::boxed]
    pub async fn reserve(
        &self,
        project: ProjectId,
        want: Amount,
    ) -> Result<Reservation, QuotaError> {
        self.ask(project, want, false).await
    }

    /// Reserves as much of `want` as the caps leave, at least one page. `want` has pages of one
    /// kind only.
    ///
    /// # Errors
    /// [`QuotaError::Capped`] with the cap that leaves nothing.
    #[crate::boxed]
    pub async fn reserve_up_to(
        &self,
        project: ProjectId,
        want: Amount,
    ) -> Result<Reservation, QuotaError> {
        self.ask(project, want, true).await
    }

    /// As [`reserve`](Self::reserve), for a call that may be a retry: work already billed under
    /// `token` is allowed even at a cap, since it costs nothing more.
    ///
    /// # Errors
    /// [`QuotaError::Capped`] with the cap that leaves too little.
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

    /// As [`reserve_up_to`](Self::reserve_up_to), for a call that may be a retry: where the caps leave
    /// nothing, work that is already billed under one of the tokens, `each` of it, is allowed.
    ///
    /// # Errors
    /// [`QuotaError::Capped`] with the cap that leaves nothing.
    #[crate::boxed]
    pub async fn reserve_up_to_for(
        &self,
        project: ProjectId,
        want: Amount,
        tokens: &[String],
        each: Amount,
    ) -> Result<Reservation, QuotaError> {
        match self.reserve_up_to(project, want).await {
            Err(QuotaError::Capped(cap)) => {
                let billed = self.0.store.billed_tokens(project, tokens).await?;
                if billed.is_empty() {
                    return Err(QuotaError::Capped(cap));
                }
                let count = billed.len() as u64;
                let allowed = Amount {
                    pages: each.pages * count,
                    cloud_pages: each.cloud_pages * count,
                };
                Ok(Reservation::free(project, allowed, self.0.clock.now()))
            }
            done => done,
        }
    }

    /// Reserves a page for each token, in order, as far as the caps reach: each token gets its
    /// reservation or the cap. Tokens that are already billed need no quota.
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
        let request = ReservationRequest {
            want,
            partial,
            now,
            expires: now + TTL,
        };
        let mut result = inner.store.reserve(project, &caps, &request).await?;
        // The pages of a call that has just failed count as reserved until the writer has
        // committed their release.
        if matches!(result, ReservationResult::Capped(_)) && inner.store.released().await? {
            result = inner.store.reserve(project, &caps, &request).await?;
        }
        match result {
            ReservationResult::Reserved(id, left, short) => {
                inner.live.lock().insert(id);
                Ok(Reservation {
                    project,
                    left,
                    at: now,
                    short: short.map(|cap| CapReached::at(cap, now)),
                    held: Some(Arc::new(HeldReservation {
                        id,
                        quota: self.clone(),
                    })),
                })
            }
            ReservationResult::Capped(cap) => Err(QuotaError::Capped(CapReached::at(cap, now))),
        }
    }

    /// Whether a reservation is for today. Work that crosses midnight (UTC) drops the old
    /// reservation and makes a new one, so that the pages count for the new day.
    pub fn is_current(&self, reservation: &Reservation) -> bool {
        reservation.at.date_naive() == self.0.clock.now().date_naive()
    }

    /// Waits until the pages of reservations that were dropped are available again.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn settle(&self) -> Result<(), StoreError> {
        self.0.store.released().await.map(drop)
    }

    /// Extends all reservations of this process. Called every minute.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn renew(&self) -> Result<(), StoreError> {
        let live: Vec<ReservationId> = self.0.live.lock().iter().copied().collect();
        self.0.store.renew(&live, self.0.clock.now() + TTL).await
    }
}

/// Reserved pages. Dropping it releases the unused ones.
#[derive(Debug)]
#[must_use = "a dropped reservation releases its pages"]
pub struct Reservation {
    project: ProjectId,
    left: Amount,
    at: DateTime<Utc>,
    short: Option<CapReached>,
    held: Option<Arc<HeldReservation>>,
}

/// The reservation's row in the database, shared by its parts.
struct HeldReservation {
    id: ReservationId,
    quota: Quota,
}

impl fmt::Debug for HeldReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldReservation({})", self.id)
    }
}

impl Drop for HeldReservation {
    fn drop(&mut self) {
        self.quota.0.live.lock().remove(&self.id);
    }
}

impl Reservation {
    /// A reservation that counts against no cap: for work that is already billed.
    pub fn free(project: ProjectId, amount: Amount, at: DateTime<Utc>) -> Self {
        Self {
            project,
            left: amount,
            at,
            short: None,
            held: None,
        }
    }

    /// Pages that are reserved and not yet billed.
    pub const fn left(&self) -> Amount {
        self.left
    }

    /// The cap that made this reservation smaller than requested.
    pub const fn short(&self) -> Option<CapReached> {
        self.short
    }

    /// Moves a part, at most what is left, into a separate reservation.
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

    /// The usage event of finished work, to be stored together with its result. It counts for
    /// the day of the reservation. Repeated work has the same token and is billed once. More
    /// than the reservation holds is billed too, because the work was done.
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

/// Seconds until a cap starts anew, at least 1.
fn wait(cap: PageCap, now: DateTime<Utc>) -> u64 {
    let today = now.date_naive();
    let then = match cap {
        PageCap::Day | PageCap::CloudDay => today.succ_opt(),
        PageCap::Month => today
            .with_day(1)
            .and_then(|first| first.checked_add_months(Months::new(1))),
    };
    let end = then.map_or(now, |day| day.and_time(NaiveTime::MIN).and_utc());
    // Rounded up, so that no client retries too early.
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
    fn the_retry_time_is_midnight_or_the_end_of_the_month() {
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
