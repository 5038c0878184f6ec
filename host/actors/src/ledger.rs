//! The bill of one call. Pages are reserved before they are fetched, counted when the response
//! arrives, and billed once at the end, even if the call fails.

mod pages;

use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use orbweaver_core::key_hash::url_key;
use orbweaver_pipeline::cost_token;
use orbweaver_store::{Amount, NewUsage, Store, StoreError};
use orbweaver_urls::KeyRules;
use parking_lot::Mutex;

pub(super) use pages::{Ended, Ticket};
use pages::{Pages, UrlKey, Wants};

use super::tariff::{Count, Tariff};
use crate::context::Actors;
use orbweaver_accounts::quota::{Quota, QuotaError, Reservation};

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
    pages: Arc<Mutex<Pages>>,
    reserved: Mutex<Reserved>,
}

#[derive(Debug, Default)]
struct Reserved {
    blocks: Vec<Reservation>,
    closed: bool,
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
        let (mut pages, mut blocks) = (Pages::default(), Vec::new());
        if first != Amount::default() {
            // A retry of a billed call is allowed even at a cap.
            let token = part(token, 0);
            blocks.push(actors.quota.reserve_for(project, first, &token).await?);
            pages.held = first;
        }
        Ok(Self {
            quota: actors.quota.clone(),
            store: actors.store.clone(),
            project,
            tariff,
            token: token.to_owned(),
            asking: tokio::sync::Mutex::new(()),
            misled: Arc::default(),
            pages: Arc::new(Mutex::new(pages)),
            reserved: Mutex::new(Reserved {
                blocks,
                closed: false,
            }),
        })
    }

    /// Whether a request is free whatever its response is; `None` where the response tells.
    pub(super) fn frees(&self, respects_robots: bool) -> Option<bool> {
        self.tariff.frees(respects_robots)
    }

    /// Takes one page for a plain HTTP request. At a reached cap, one that `may_be_free` is made all the
    /// same, because only the response tells whether it is.
    pub(super) async fn page(&self, url: &str, may_be_free: bool) -> Result<Ticket, QuotaError> {
        let wants = match self.tariff.count {
            Count::Urls { .. } => Wants::Url(key(url)),
            Count::Page { .. } | Count::CloudPage | Count::Success => {
                Wants::Amount(Amount::default())
            }
        };
        let cap = match self.take(&wants).await {
            Ok(()) => return Ok(Ticket::of(&self.pages, wants, false)),
            Err(QuotaError::Capped(cap)) => cap,
            Err(error) => return Err(error),
        };
        let misled = Arc::clone(&self.misled).lock_owned().await;
        if !may_be_free || *misled {
            return Err(QuotaError::Capped(cap));
        }
        Ok(Ticket::unpaid(cap, misled))
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
        let wants = Wants::Amount(amount);
        self.take(&wants).await?;
        Ok(Ticket::of(&self.pages, wants, rendering))
    }

    async fn take(&self, wants: &Wants) -> Result<(), QuotaError> {
        if self.pages.lock().take(wants) {
            return Ok(());
        }
        let _alone = self.asking.lock().await;
        // Another request may have reserved enough meanwhile.
        if self.pages.lock().take(wants) {
            return Ok(());
        }
        let most = wants.most();
        let block = if most.cloud_pages > 0 {
            self.quota.reserve(self.project, most).await?
        } else {
            // Twice as many each time: a call of few pages sets aside few.
            let held = self.pages.lock().held.pages;
            let want = Amount::pages(held.clamp(1, BLOCK));
            self.quota.reserve_up_to(self.project, want).await?
        };
        let mut pages = self.pages.lock();
        pages.held = pages.held.plus(block.left());
        self.reserved.lock().blocks.push(block);
        pages.take(wants);
        Ok(())
    }

    /// Whether the call is billed by its requests alone, and none of them so far.
    pub(super) fn is_free_so_far(&self) -> bool {
        let used = self.pages.lock().used;
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
        let pages = self.pages.lock();
        let mut reserved = self.reserved.lock();
        if std::mem::replace(&mut reserved.closed, true) {
            return (Vec::new(), 0);
        }
        let mut due = match self.tariff.count {
            Count::Page { .. } => Amount {
                pages: u64::from(pages.answered),
                cloud_pages: u64::from(pages.rendered),
            },
            Count::CloudPage => Amount {
                pages: 0,
                cloud_pages: pages.used.cloud_pages.max(u64::from(pages.answered)),
            },
            Count::Success => Amount::pages(u64::from(succeeded)),
            Count::Urls { least } => {
                let least = if succeeded { least } else { 0 };
                Amount {
                    pages: pages.used.pages.max(least),
                    ..pages.used
                }
            }
        };
        let mut cost = pages.cost_micros;
        let total = cost;
        let mut usages = Vec::new();
        for (at, reservation) in reserved.blocks.iter_mut().enumerate() {
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
        // A call without pages still costs what was paid for it.
        if let Some(reservation) = reserved.blocks.first_mut().filter(|_| cost > 0) {
            let token = cost_token(&self.token);
            usages.push(reservation.usage(token, self.tariff.call, Amount::default(), cost));
        }
        // Unused pages are released.
        reserved.blocks.clear();
        (usages, total)
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

fn key(url: &str) -> UrlKey {
    let rules = KeyRules {
        drop_tracking: false,
    };
    UrlKey::of(&url_key(url, rules))
}
