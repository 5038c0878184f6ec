//! The bill of one call. Pages are reserved before they are fetched, counted when the response
//! arrives, and billed once at the end, even if the call fails.

use std::collections::HashSet;
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use orbweaver_core::key_hash::url_key;
use orbweaver_store::{Amount, NewUsage, Store, StoreError};
use orbweaver_urls::KeyRules;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::tariff::{Count, Tariff};
use crate::context::Actors;
use orbweaver_accounts::quota::{CapReached, Quota, QuotaError, Reservation};
use orbweaver_pipeline::cloud::micros;

/// Most pages reserved at a time by a call that is billed per page.
const BLOCK: u64 = 32;

/// Reservations and counts of a call.
#[derive(Debug)]
pub(super) struct Ledger {
    quota: Quota,
    store: Store,
    project: ProjectId,
    tariff: Tariff,
    token: String,
    /// Held while more pages are reserved, so that parallel requests share one reservation.
    asking: tokio::sync::Mutex<()>,
    /// Whether a request at a reached cap was for none of the free files: no more are made.
    misled: Arc<tokio::sync::Mutex<bool>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reserved: Vec<Reservation>,
    /// Pages reserved in all.
    held: Amount,
    /// Pages in progress or done.
    taken: Amount,
    /// Pages to be billed.
    used: Amount,
    /// Keys of the URLs that are counted.
    seen: HashSet<String>,
    answered: bool,
    rendered: bool,
    cost_micros: u64,
    closed: bool,
}

/// A request at a reached cap, for what may be one of the free files. There is one at a time.
#[derive(Debug)]
struct Unpaid {
    cap: CapReached,
    misled: OwnedMutexGuard<bool>,
}

/// Permission for one request.
#[derive(Debug)]
#[must_use = "settle the ticket when the request has ended"]
pub(super) struct Ticket {
    /// Taken from the reservation; zero for a URL that is already counted.
    amount: Amount,
    key: Option<String>,
    rendering: bool,
    unpaid: Option<Unpaid>,
}

/// Result of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    /// Whether a response arrived, with any status.
    pub(super) answered: bool,
    /// Whether it is one of the free files: robots.txt, llms.txt, a sitemap.
    pub(super) free: bool,
    /// Its cost in US dollars.
    pub(super) cost_usd: f64,
}

impl Ledger {
    /// Opens the ledger and reserves the pages that the call needs in any case.
    pub(super) async fn open(
        actors: &Actors,
        project: ProjectId,
        tariff: Tariff,
        token: &str,
    ) -> Result<Self, QuotaError> {
        let first = tariff.first();
        let mut state = State::default();
        if first != Amount::default() {
            // A retry of a billed call is allowed even at a cap.
            let token = part(token, 0);
            state
                .reserved
                .push(actors.quota.reserve_for(project, first, &token).await?);
            state.held = first;
        }
        Ok(Self {
            quota: actors.quota.clone(),
            store: actors.store.clone(),
            project,
            tariff,
            token: token.to_owned(),
            asking: tokio::sync::Mutex::new(()),
            misled: Arc::default(),
            state: Mutex::new(state),
        })
    }

    /// Whether a request is free whatever its response is.
    pub(super) fn frees(&self, respects_robots: bool) -> bool {
        self.tariff.frees(respects_robots)
    }

    /// Takes one page for a plain HTTP request. At a reached cap, one that `may_be_free` is made all the
    /// same, because only the response tells whether it is.
    pub(super) async fn page(&self, url: &str, may_be_free: bool) -> Result<Ticket, QuotaError> {
        let key = key(url);
        let counts = matches!(self.tariff.count, Count::Urls { .. })
            && self.state.lock().seen.insert(key.clone());
        let amount = Amount {
            pages: u64::from(counts),
            cloud_pages: 0,
        };
        let key = counts.then_some(key);
        let error = match self.take(amount).await {
            Ok(()) => {
                return Ok(Ticket {
                    amount,
                    key,
                    rendering: false,
                    unpaid: None,
                });
            }
            Err(error) => error,
        };
        if let Some(key) = &key {
            self.state.lock().seen.remove(key);
        }
        let QuotaError::Capped(cap) = error else {
            return Err(error);
        };
        let misled = Arc::clone(&self.misled).lock_owned().await;
        if !may_be_free || *misled {
            return Err(QuotaError::Capped(cap));
        }
        Ok(Ticket {
            amount: Amount::default(),
            key: None,
            rendering: false,
            unpaid: Some(Unpaid { cap, misled }),
        })
    }

    /// Takes one cloud page for a browser or a proxy pool.
    pub(super) async fn cloud_page(&self, rendering: bool) -> Result<Ticket, QuotaError> {
        let counts = match self.tariff.count {
            Count::Urls { .. } => true,
            // The first one is the call's own.
            Count::CloudPage => rendering,
            Count::Page { .. } | Count::Success => false,
        };
        let amount = Amount {
            pages: 0,
            cloud_pages: u64::from(counts),
        };
        self.take(amount).await?;
        Ok(Ticket {
            amount,
            key: None,
            rendering,
            unpaid: None,
        })
    }

    async fn take(&self, amount: Amount) -> Result<(), QuotaError> {
        if amount == Amount::default() || self.state.lock().take(amount) {
            return Ok(());
        }
        let _alone = self.asking.lock().await;
        // Another request may have reserved enough meanwhile.
        if self.state.lock().take(amount) {
            return Ok(());
        }
        let block = if amount.cloud_pages > 0 {
            self.quota.reserve(self.project, amount).await?
        } else {
            // Twice as many each time: a call of few pages sets aside few.
            let held = self.state.lock().held.pages;
            let want = Amount::pages(held.clamp(1, BLOCK));
            self.quota.reserve_up_to(self.project, want).await?
        };
        let mut state = self.state.lock();
        state.held = state.held.plus(block.left());
        state.reserved.push(block);
        state.take(amount);
        Ok(())
    }

    /// Counts a finished request.
    ///
    /// # Errors
    /// With the reached cap: the response is none of the free files, so nobody may read it.
    pub(super) fn settle(&self, ticket: Ticket, ended: Ended) -> Result<(), CapReached> {
        if let Some(Unpaid { cap, mut misled }) = ticket.unpaid {
            *misled = ended.answered && !ended.free;
            return if *misled { Err(cap) } else { Ok(()) };
        }
        let mut state = self.state.lock();
        if !ended.answered || ended.free {
            state.taken = state.taken.less(ticket.amount);
            if let Some(key) = &ticket.key {
                state.seen.remove(key);
            }
        } else {
            state.used = state.used.plus(ticket.amount);
        }
        state.answered |= ended.answered;
        state.rendered |= ended.answered && ticket.rendering;
        state.cost_micros = state.cost_micros.saturating_add(micros(ended.cost_usd));
        Ok(())
    }

    /// Whether the call is billed by its requests alone, and none of them so far.
    pub(super) fn is_free_so_far(&self) -> bool {
        let used = self.state.lock().used;
        self.tariff.count == (Count::Urls { least: 0 }) && used == Amount::default()
    }

    /// Bills the call; returns its cost in millionths of a US dollar.
    pub(super) async fn close(&self, succeeded: bool) -> Result<u64, StoreError> {
        let (usages, cost) = self.usages(succeeded);
        for usage in usages {
            self.store.bill(usage).await?;
        }
        Ok(cost)
    }

    /// What the call costs, for a caller that stores it together with the result, and its cost in
    /// millionths of a US dollar. The call is then billed for this ledger.
    pub(super) fn end(&self, succeeded: bool) -> (Vec<NewUsage>, u64) {
        self.usages(succeeded)
    }

    /// Bills nothing: the work is done again.
    pub(super) fn abandon(&self) {
        drop(self.usages(false));
    }

    /// The usage events of the whole call; empty when called again.
    fn usages(&self, succeeded: bool) -> (Vec<NewUsage>, u64) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.closed, true) {
            return (Vec::new(), 0);
        }
        let mut due = match self.tariff.count {
            Count::Page { .. } => Amount {
                pages: u64::from(state.answered),
                cloud_pages: u64::from(state.rendered),
            },
            Count::CloudPage => Amount {
                pages: 0,
                cloud_pages: state.used.cloud_pages.max(u64::from(state.answered)),
            },
            Count::Success => Amount::pages(u64::from(succeeded)),
            Count::Urls { least } => {
                let least = if succeeded { least } else { 0 };
                Amount {
                    pages: state.used.pages.max(least),
                    ..state.used
                }
            }
        };
        let mut cost = state.cost_micros;
        let total = cost;
        let mut usages = Vec::new();
        for (at, reservation) in state.reserved.iter_mut().enumerate() {
            let left = reservation.left();
            let share = due.less(due.less(left));
            if share == Amount::default() {
                continue;
            }
            due = due.less(share);
            let token = part(&self.token, at);
            usages.push(reservation.usage(token, self.tariff.call, share, cost));
            cost = 0;
        }
        // Unused pages are released.
        state.reserved.clear();
        (usages, total)
    }
}

impl State {
    fn take(&mut self, amount: Amount) -> bool {
        let taken = self.taken.plus(amount);
        let fits = taken.pages <= self.held.pages && taken.cloud_pages <= self.held.cloud_pages;
        if fits {
            self.taken = taken;
        }
        fits
    }
}

/// If the client disconnects or the process stops, the pages fetched until then are billed.
impl Drop for Ledger {
    fn drop(&mut self) {
        let (usages, _) = self.usages(false);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        for usage in usages {
            let store = self.store.clone();
            runtime.spawn(async move {
                if let Err(error) = store.bill(usage).await {
                    tracing::error!(%error, "cannot bill an abandoned call");
                }
            });
        }
    }
}

fn part(token: &str, at: usize) -> String {
    format!("{token}#{at}")
}

fn key(url: &str) -> String {
    let rules = KeyRules {
        drop_tracking: false,
    };
    url_key(url, rules)
}
