//! The bill of one call: pages set aside before they are fetched, counted as they answer,
//! billed once at the end, however the call ends.

use std::collections::HashSet;

use orbweaver_core::ids::ProjectId;
use orbweaver_store::{Amount, NewUsage, Store, StoreError};
use orbweaver_urls::KeyRules;
use parking_lot::Mutex;
use url::Url;

use super::tariff::{Count, Tariff};
use crate::context::Actors;
use orbweaver_accounts::quota::{Quota, QuotaError, Reservation};
use orbweaver_pipeline::cloud::micros;

/// Pages set aside at a time by a call that counts them.
const BLOCK: u64 = 32;

/// A call's bill.
#[derive(Debug)]
pub(super) struct Ledger {
    quota: Quota,
    store: Store,
    project: ProjectId,
    tariff: Tariff,
    token: String,
    /// Held while more is set aside, so that parallel requests set aside together.
    asking: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reserved: Vec<Reservation>,
    /// Set aside in all.
    held: Amount,
    /// Under way or done.
    taken: Amount,
    /// To be billed.
    used: Amount,
    /// URLs counted, by their keys.
    seen: HashSet<String>,
    answered: bool,
    rendered: bool,
    cost_micros: u64,
    closed: bool,
}

/// A request that may go out.
#[derive(Debug)]
#[must_use = "a request is settled once it has ended"]
pub(super) struct Ticket {
    /// Taken of what is set aside; nothing for a URL that was counted before.
    amount: Amount,
    key: Option<String>,
    rendering: bool,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    /// A response came, whatever its status.
    pub(super) answered: bool,
    /// It is one of the files that are free: robots.txt, llms.txt, a sitemap.
    pub(super) free: bool,
    /// What it cost, in US dollars.
    pub(super) cost_usd: f64,
}

impl Ledger {
    /// Opens it with what the call surely takes.
    pub(super) async fn open(
        actors: &Actors,
        project: ProjectId,
        tariff: Tariff,
        token: &str,
    ) -> Result<Self, QuotaError> {
        let first = tariff.first();
        let mut state = State::default();
        if first != Amount::default() {
            // A retry of what is billed already is done again even at a cap.
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
            state: Mutex::new(state),
        })
    }

    /// Lets a page be fetched, by plain HTTP.
    pub(super) async fn page(&self, url: &str) -> Result<Ticket, QuotaError> {
        let key = key(url);
        let counts = matches!(self.tariff.count, Count::Urls { .. })
            && self.state.lock().seen.insert(key.clone());
        let amount = Amount {
            pages: u64::from(counts),
            cloud_pages: 0,
        };
        let key = counts.then_some(key);
        let taken = self.take(amount).await;
        if taken.is_err()
            && let Some(key) = &key
        {
            self.state.lock().seen.remove(key);
        }
        taken.map(|()| Ticket {
            amount,
            key,
            rendering: false,
        })
    }

    /// Lets a page be fetched by a browser, or through a proxy pool.
    pub(super) async fn cloud_page(&self, rendering: bool) -> Result<Ticket, QuotaError> {
        let amount = Amount {
            pages: 0,
            cloud_pages: u64::from(matches!(self.tariff.count, Count::Urls { .. })),
        };
        self.take(amount).await?;
        Ok(Ticket {
            amount,
            key: None,
            rendering,
        })
    }

    async fn take(&self, amount: Amount) -> Result<(), QuotaError> {
        if amount == Amount::default() || self.state.lock().take(amount) {
            return Ok(());
        }
        let _alone = self.asking.lock().await;
        // Another request may have set enough aside meanwhile.
        if self.state.lock().take(amount) {
            return Ok(());
        }
        let block = if amount.cloud_pages > 0 {
            self.quota.reserve(self.project, amount).await?
        } else {
            let want = Amount::pages(BLOCK);
            self.quota.reserve_up_to(self.project, want).await?
        };
        let mut state = self.state.lock();
        state.held = state.held.plus(block.left());
        state.reserved.push(block);
        state.take(amount);
        Ok(())
    }

    /// Counts a request that has ended.
    pub(super) fn settle(&self, ticket: Ticket, ended: Ended) {
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
    }

    /// Bills; what the call cost in millionths of a US dollar.
    pub(super) async fn close(&self, succeeded: bool) -> Result<u64, StoreError> {
        let (usages, cost) = self.usages(succeeded);
        for usage in usages {
            self.store.bill(usage).await?;
        }
        Ok(cost)
    }

    /// The usage events of the whole call; none when asked again.
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
                cloud_pages: u64::from(state.answered),
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
        // What is not billed is given back.
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

/// The caller hung up, or the process is stopping: what was fetched is billed all the same.
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
                    tracing::error!(%error, "a call that was given up is not billed");
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
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| orbweaver_urls::key(&url, rules))
}
