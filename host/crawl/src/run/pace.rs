//! Choice of the URLs that are fetched next: in turn by host, within limits, gates, robots.txt and caps.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use orbweaver_fetch::Kind;
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{CrawledPage, FrontierChange, HostSlot, SkipReason};
use orbweaver_urls::Resolved;
use tokio::time::{Instant, sleep_until};

use super::host::Robots;
use super::lending::Turn;
use super::report::Skipped;
use super::robots::{LeftOut, left_out_because};
use super::state::Crawler;
use crate::entry::{End, Entry, Outcome, host_key};
use crate::fetch;
use crate::politeness::Reach;
use crate::shared::Shared;
use orbweaver_accounts::quota::{CapReached, QuotaError, Reservation};

/// Hosts that are looked at before other work gets a turn.
const MAX_IDLE: usize = 512;
/// When hosts that were not looked at get their turn.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time until pages are asked for again where others have set them aside, and a host's turn where
/// the database is away.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long a run retries a page reservation: one minute longer than reservations of a dead process last.
const RESERVATION_TIMEOUT: Duration = Duration::from_secs(360);

/// Result of polling one host.
pub(super) enum HostPoll {
    /// An entry is on its way, or was left out.
    Went,
    /// Not before then.
    At(Instant),
    /// Something else has to happen first.
    Waits,
}

impl Crawler {
    /// Pages set aside and not billed.
    fn allowance(&self) -> u64 {
        self.reserved.as_ref().map_or(0, left)
    }

    /// Sets pages aside, so that no cap is passed: a little ahead, at most twice as many as
    /// the run fetches at once. What a block has left
    /// when the next one is taken goes back, and so does what is left at the end.
    pub(super) async fn reserve(&mut self) -> anyhow::Result<()> {
        if self.is_full() || self.window.is_empty() {
            return Ok(());
        }
        if self.ask_again.is_some_and(|at| Instant::now() < at) {
            return Ok(());
        }
        self.ask_again = None;
        let under_way = self.fetches.len() as u64;
        // If the cap leaves no more pages than the block has, the block is used up first.
        if self.cut && under_way > 0 {
            return Ok(());
        }
        self.cut = false;
        let quota = &self.shared.crawls.quota;
        if let Some(reserved) = &self.reserved {
            let enough = left(reserved) > under_way && quota.is_current(reserved);
            // The cap has cut this block, so there is no further one before it is used up.
            if enough || (reserved.short().is_some() && under_way > 0) {
                return Ok(());
            }
        }
        let max = u64::from(self.shared.spec.max_pages);
        let ahead = (self.limiter.limit() as u64).saturating_mul(2);
        let want = ahead
            .min(max.saturating_sub(self.rows))
            .min(self.pending)
            .max(under_way + 1);
        let project = self.shared.lease.project;
        let mut block = quota
            .reserve_up_to(project, self.shared.pages_of(want))
            .await;
        if let Err(QuotaError::Capped(_)) = &block {
            // Pages that this run returned may not have reached the database yet.
            quota.settle().await?;
            block = quota
                .reserve_up_to(project, self.shared.pages_of(want))
                .await;
        }
        match block {
            // Too small to bill what is under way to: that stays with the old block.
            Ok(block) if under_way > 0 && left(&block) <= under_way => self.cut = true,
            // Fetches under way are billed to the new block, so the old one is returned.
            Ok(block) => {
                self.reserved = Some(block);
                self.patience = None;
            }
            Err(QuotaError::Store(error)) => return Err(error.into()),
            Err(_) if under_way > 0 => self.cut = true,
            Err(_) if self.lending.has_parts() => self.gather().await?,
            Err(_) if self.lending.is_settling() => {}
            // A part is given up instead, so that what its run has set aside is of use.
            Err(QuotaError::Capped(cap)) if !cap.is_billed && self.helping.is_none() => {
                self.wait_for_others(&cap);
            }
            Err(error) => self.capped = Some(error.to_string()),
        }
        Ok(())
    }

    /// Asks again after a while, because only pages that other work has set aside fill the cap: for
    /// as long as those of a process that died count.
    fn wait_for_others(&mut self, cap: &CapReached) {
        let now = Instant::now();
        if now < *self.patience.get_or_insert(now + RESERVATION_TIMEOUT) {
            self.ask_again = Some(now + ASK_AGAIN);
        } else {
            self.capped = Some(cap.to_string());
        }
    }

    /// Sends out what limits, gates and robots.txt allow; when to try again.
    pub(super) fn launch(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.window.ripen(now);
        let mut wake = self.window.next_ripe();
        let mut idle = 0;
        self.robots_steps = 0;
        if self.window.waiting_hosts() > MAX_IDLE {
            let again = now + MIN_POLL_INTERVAL;
            wake = Some(wake.map_or(again, |wake| wake.min(again)));
        }
        while idle < self.window.waiting_hosts().min(MAX_IDLE)
            && self.has_robots_steps()
            && (self.has_room() || self.lending.has_room())
            && self.rows + self.under_way() < u64::from(self.shared.spec.max_pages)
        {
            let Some(host) = self.window.next_host() else {
                break;
            };
            match self.turn(host, now) {
                HostPoll::Went => idle = 0,
                HostPoll::Waits => idle += 1,
                HostPoll::At(at) => {
                    wake = Some(wake.map_or(at, |wake| wake.min(at)));
                    idle += 1;
                }
            }
        }
        // Other work gets a turn before the next URL is looked at.
        if self.has_robots_steps() {
            wake
        } else {
            Some(now)
        }
    }

    /// Whether this node may send one more request.
    fn has_room(&self) -> bool {
        self.requests() < self.limiter.limit() && (self.fetches.len() as u64) < self.allowance()
    }

    /// URLs being fetched, here or by other nodes.
    fn under_way(&self) -> u64 {
        (self.fetches.len() + self.lending.len()) as u64
    }

    fn turn(&mut self, host: usize, now: Instant) -> HostPoll {
        match self.whose_turn(host, now) {
            Turn::Here => {}
            Turn::Lend(part) => return self.turn_elsewhere(host, part),
            Turn::At(at) => return HostPoll::At(at),
            Turn::Waits => return HostPoll::Waits,
        }
        if !self.has_room() {
            return HostPoll::Waits;
        }
        if self.shared.spec.respect_robots
            && let Some(poll) = self.lacks_robots(host, now)
        {
            return poll;
        }
        let (Some(entry), Some(known)) = (self.window.peek(host), self.hosts.get(host)) else {
            return HostPoll::Waits;
        };
        if let Robots::Known(answer, _) = &known.robots
            && self.shared.spec.respect_robots
            && known.allowed != Some(entry.seq)
            && let Some(why) = left_out_because(answer, &entry.url, &mut self.robots_steps)
        {
            return match why {
                LeftOut::Disallowed(why) => self.leave_out(host, SkipReason::Robots, None, &why),
                LeftOut::Unanswered(kind, why) => self.give_up_next(host, kind, why),
            };
        }
        let owns = entry.attempts > 0;
        if !owns && let Some(claimer) = self.shared.claimer(entry.hash) {
            return self.leave_out_duplicate(host, claimer);
        }
        let seq = entry.seq;
        if let Err(open) = known.turn.take(now) {
            if let Some(known) = self.hosts.get_mut(host) {
                known.allowed = Some(seq);
            }
            return HostPoll::At(open);
        }
        let Some(mut entry) = self.window.pop(host) else {
            return HostPoll::Waits;
        };
        let is_last = self.window.peek(host).is_none();
        if let Some(known) = self.hosts.get_mut(host) {
            known.under_way += 1;
            // A list may have a host for each of its URLs: what is known of one whose turn is
            // over is in the fetcher's cache.
            if self.shared.spec.list && is_last {
                known.robots = Robots::Unknown;
            }
        }
        self.shared.claim(entry.hash, entry.hash);
        if let Some(nearest) = self.seen.get(&entry.hash) {
            entry.depth = entry.depth.min(u32::from(*nearest));
        }
        let random = self.random.u64(..);
        let work = fetch_in_turn(Arc::clone(&self.shared), entry, host, random);
        let committer = self.committer.clone();
        self.fetches.spawn(async move {
            let outcome = work.await;
            let bytes = match &outcome.end {
                End::Page(fetched) => stored_bytes(&fetched.row),
                _ => 0,
            };
            let room = committer.room(bytes).await;
            (outcome, room)
        });
        HostPoll::Went
    }

    /// As [`turn`](Self::turn), for a host that another node crawls.
    fn turn_elsewhere(&mut self, host: usize, part: i64) -> HostPoll {
        let Some(entry) = self.window.peek(host) else {
            return HostPoll::Waits;
        };
        if entry.attempts == 0
            && let Some(claimer) = self.shared.claimer(entry.hash)
        {
            return self.leave_out_duplicate(host, claimer);
        }
        self.lend(host, part);
        HostPoll::Went
    }

    /// Gives a host's next entry up, as the host, or its robots.txt, can't be had.
    fn give_up_next(&mut self, host: usize, kind: Kind, why: String) -> HostPoll {
        let Some(entry) = self.window.pop(host) else {
            return HostPoll::Waits;
        };
        let failed = self.give_up(&entry, kind.as_str(), why);
        if self.helping.is_some() {
            self.report_failed(&entry, failed);
        } else {
            self.given_up.push(failed);
        }
        HostPoll::Went
    }

    /// Leaves a host's next entry out, as the URL of another key redirects to it.
    fn leave_out_duplicate(&mut self, host: usize, claimer: u64) -> HostPoll {
        let why = "another URL redirects to it";
        self.leave_out(host, SkipReason::Duplicate, Some(claimer), why)
    }

    /// Leaves a host's next entry out; `claimer` is the key of a URL that redirects to it.
    fn leave_out(
        &mut self,
        host: usize,
        reason: SkipReason,
        claimer: Option<u64>,
        why: &str,
    ) -> HostPoll {
        let Some(entry) = self.window.pop(host) else {
            return HostPoll::Waits;
        };
        if self.shared.is_seed(&entry) {
            self.failure = Some(why.to_owned());
        }
        self.pending = self.pending.saturating_sub(1);
        self.skip(reason, 1);
        if self.helping.is_some() {
            self.report_skipped(&entry, Skipped::of(reason), claimer);
        } else {
            self.left_out.push(FrontierChange::Skipped {
                seq: entry.seq,
                redirect_to: claimer,
            });
        }
        HostPoll::Went
    }
}

/// Pages that a reservation has left, of whichever kind the run reserves.
fn left(reserved: &Reservation) -> u64 {
    let left = reserved.left();
    left.pages.max(left.cloud_pages)
}

/// Bytes of a page that wait for the writer: its body and its words.
fn stored_bytes(row: &CrawledPage) -> usize {
    let body = row.page.body.as_ref().map_or(0, |body| body.bytes.len());
    let words = row.words.as_ref();
    body + words.map_or(0, |words| words.title.len() + words.text.len())
}

/// Fetches an entry, in turn with other nodes where there are some.
async fn fetch_in_turn(shared: Arc<Shared>, entry: Entry, host: usize, random: u64) -> Outcome {
    let fetch = async {
        let store = &shared.crawls.store;
        if shared.turns.reach() != Reach::Own
            && store.is_shared()
            && let Some(url) = Resolved::parse(&entry.url)
            && let Err(error) = take_turn(&shared, &host_key(&url)).await
        {
            return fetch::broken(entry.clone(), host, error.to_string());
        }
        fetch::run(Arc::clone(&shared), entry.clone(), host, random).await
    };
    match AssertUnwindSafe(fetch).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => fetch::broken(
            entry.clone(),
            host,
            "internal error while fetching this URL".to_owned(),
        ),
    }
}

/// Waits until no other node has the turn of a host, and takes it. Nothing is taken before that, so
/// whoever drops the future leaves nothing behind.
async fn take_turn(shared: &Shared, host: &str) -> Result<(), StoreError> {
    let crawls = &shared.crawls;
    let turn = shared.turn(host);
    loop {
        let delay = turn.asked();
        // The hosts' time, which never stands still.
        let (at, now) = (Instant::now(), crawls.clock.that_goes().now());
        match crawls.store.host_slot(host, now, delay).await {
            Ok(HostSlot::Taken) => {
                turn.shared_slot(at);
                return Ok(());
            }
            Ok(HostSlot::FreeAt(free)) => {
                let wait = (free - now).to_std().unwrap_or_default();
                // A node's clock may have been wrong, so nobody waits longer without asking.
                let open = at + wait.min(crawls.config.max_wait_ms.as_duration());
                turn.taken_elsewhere(open);
                sleep_until(open).await;
            }
            Err(error) => {
                tracing::warn!(%error, host, "cannot ask other nodes for a host's turn");
                if delay.is_zero() {
                    return Ok(());
                }
                if !error.is_transient() {
                    return Err(error);
                }
                sleep_until(at + ASK_AGAIN).await;
            }
        }
    }
}
