//! The run's side of its parts: hosts are lent to other nodes, and their reports are read.
//!
//! A host is crawled by one node at a time, so that politeness has one keeper. It moves to
//! another node only when nothing of it is under way.

mod dividing;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::time::Duration;

use orbweaver_store::crawl::{FrontierChange, Lease};
use tokio::sync::watch;
use tokio::time::Instant;

use super::host::Place;
use super::state::Crawler;
use crate::context::Crawls;
use crate::entry::Entry;
use crate::spec::CrawlSpec;

/// URLs lent to one part at a time.
const MOST_LENT: usize = 512;
/// The same of one host, at least.
const LEAST_OF_HOST: usize = 8;
/// How often reports are looked for if no notice comes, and at most if many come.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often the parts themselves are looked at.
const PART_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a part that lost its worker waits for another one.
const PART_TIMEOUT: Duration = Duration::from_secs(3);
/// How long no help is asked for after nobody took a part, at first and at most: while a part is
/// open, its share of the requests that the client asked for is not used.
const IN_VAIN: Duration = Duration::from_secs(30);
const MAX_IN_VAIN: Duration = Duration::from_secs(300);
/// Parts given up by their workers after which no other node is asked for help: their URLs may be what
/// nobody can store.
const MAX_GIVEN_UP: u32 = 3;
/// How long other nodes may take to return pages that they had reserved.
const SETTLE: Duration = Duration::from_secs(2);

/// A URL that is lent.
struct Lent {
    part: i64,
    host: usize,
    entry: Entry,
}

/// A part of the run.
struct Part {
    /// Whether a worker leases it, and whether one ever did.
    is_leased: bool,
    was_leased: bool,
    opened: Instant,
    /// Since when none does.
    free_since: Instant,
    /// Hosts placed there.
    hosts: usize,
    /// URLs lent to it.
    lent: usize,
    /// The last number given to a lent URL.
    number: i64,
    /// The last report read.
    read: i64,
}

/// What a run has lent to other nodes.
pub(super) struct Lending {
    /// Whether the run may have parts.
    is_allowed: bool,
    parts: BTreeMap<i64, Part>,
    next_part: i64,
    lent: HashMap<i64, Lent>,
    /// Hosts placed at this node.
    hosts_here: usize,
    /// Not written down yet.
    pub(super) changes: Vec<FrontierChange>,
    /// The requests of each part for which room is being made, and when that of other nodes is.
    shrunk: Option<(u32, Instant)>,
    /// How often in a row nobody took a part, and when help is asked for again.
    in_vain: u32,
    ask_again: Instant,
    /// Parts that their workers have given up.
    given_up: u32,
    /// When other nodes have returned what they had reserved, after the parts were ended.
    settled: Option<Instant>,
    notices: watch::Receiver<u64>,
    next_look: Instant,
    next_tend: Instant,
}

impl Lending {
    pub(super) fn new(is_allowed: bool, notices: watch::Receiver<u64>) -> Self {
        let now = Instant::now();
        Self {
            is_allowed,
            parts: BTreeMap::new(),
            next_part: 0,
            lent: HashMap::new(),
            hosts_here: 0,
            changes: Vec::new(),
            shrunk: None,
            in_vain: 0,
            ask_again: now,
            given_up: 0,
            settled: None,
            notices,
            next_look: now,
            next_tend: now,
        }
    }

    /// Number of URLs that are lent.
    pub(super) fn len(&self) -> usize {
        self.lent.len()
    }

    /// Whether a part can take another URL.
    pub(super) fn has_room(&self) -> bool {
        self.parts
            .values()
            .any(|part| part.is_leased && part.lent < MOST_LENT)
    }

    /// When the parts are to be looked at by themselves.
    pub(super) fn wake(&self) -> Option<Instant> {
        if self.is_settling() {
            Some(Instant::now() + POLL_INTERVAL)
        } else if !self.is_allowed {
            None
        } else if self.parts.is_empty() {
            Some(self.next_tend)
        } else {
            Some(self.next_tend.min(self.next_look))
        }
    }

    /// Whether other nodes may still return pages that they had reserved.
    pub(super) fn is_settling(&self) -> bool {
        self.settled.is_some_and(|settled| Instant::now() < settled)
    }

    /// Whether there are parts whose reports may come.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The numbers of all parts.
    pub(super) fn numbers(&self) -> Vec<i64> {
        self.parts.keys().copied().collect()
    }

    /// The last report read of a part; `None` without such a part.
    pub(super) fn read_to(&self, number: i64) -> Option<i64> {
        Some(self.parts.get(&number)?.read)
    }

    /// Notes that a part's reports up to this one are read.
    pub(super) fn has_read(&mut self, number: i64, report: i64) {
        if let Some(part) = self.parts.get_mut(&number) {
            part.read = report;
        }
    }

    /// Notes that what became of a URL is known: its host and entry, if it was lent.
    pub(super) fn returned(&mut self, seq: i64) -> Option<(usize, Entry)> {
        let lent = self.lent.remove(&seq)?;
        if let Some(part) = self.parts.get_mut(&lent.part) {
            part.lent = part.lent.saturating_sub(1);
        }
        Some((lent.host, lent.entry))
    }

    /// Returns when another node tells of something.
    pub(super) async fn told(&mut self) {
        if self.notices.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.next_look = self.next_look.min(Instant::now() + MIN_POLL_INTERVAL);
    }

    /// Time to the next look at the parts: soon while one that was just opened may be taken.
    fn pause(&self, now: Instant) -> Duration {
        let is_new = |part: &Part| now.duration_since(part.opened) < PART_TIMEOUT;
        if self.shrunk.is_some() || self.parts.values().any(is_new) {
            POLL_INTERVAL
        } else {
            PART_CHECK_INTERVAL
        }
    }

    /// Notes that nobody took a part.
    fn was_in_vain(&mut self, now: Instant) {
        let pause = IN_VAIN.saturating_mul(1 << self.in_vain.min(8));
        self.in_vain += 1;
        self.ask_again = now + pause.min(MAX_IN_VAIN);
    }

    fn hosts_at(&self, place: Place) -> usize {
        match place {
            Place::Part(part) => self.parts.get(&part).map_or(usize::MAX, |part| part.hosts),
            Place::Here | Place::Nowhere => self.hosts_here,
        }
    }

    /// The place with the fewest hosts.
    fn emptiest(&self) -> Place {
        let mut best = (self.hosts_here, Place::Here);
        for (number, part) in &self.parts {
            if part.is_leased && part.hosts < best.0 {
                best = (part.hosts, Place::Part(*number));
            }
        }
        best.1
    }

    fn count(&mut self, place: Place, is_more: bool) {
        let count = match place {
            Place::Here => &mut self.hosts_here,
            Place::Part(part) => match self.parts.get_mut(&part) {
                Some(part) => &mut part.hosts,
                None => return,
            },
            Place::Nowhere => return,
        };
        *count = if is_more {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
    }
}

/// The place where a host's next URL is fetched.
pub(super) enum Turn {
    Here,
    /// By the worker of this part.
    Lend(i64),
    /// Not before this time, because the host moves to another node.
    At(Instant),
    /// Something else has to happen first.
    Waits,
}

impl Crawler {
    /// Where a host's next URL is fetched. Places the host, or moves it.
    pub(super) fn whose_turn(&mut self, host: usize, now: Instant) -> Turn {
        if self.lending.parts.is_empty() {
            return Turn::Here;
        }
        let Some(known) = self.hosts.get(host) else {
            return Turn::Waits;
        };
        let (mut place, under_way) = (known.place, known.under_way);
        if place == Place::Nowhere && under_way > 0 {
            // From before there were parts.
            place = Place::Here;
            self.lending.count(place, true);
        }
        let best = self.lending.emptiest();
        let is_better = self.lending.hosts_at(best) + 1 < self.lending.hosts_at(place);
        if place == Place::Nowhere || (is_better && under_way == 0) {
            if best != Place::Here {
                // The receiving node does not know when the host was last asked, so the delay slot is
                // taken here.
                if let Err(open) = known.turn.take(now) {
                    return Turn::At(open);
                }
            }
            self.lending.count(place, false);
            self.lending.count(best, true);
            place = best;
        }
        if let Some(known) = self.hosts.get_mut(host) {
            known.place = place;
        }
        if is_better && under_way > 0 {
            // It moves as soon as what is under way has come back.
            return Turn::Waits;
        }
        match place {
            Place::Part(number) => match self.lending.parts.get(&number) {
                Some(part) if part.is_leased => {
                    let of_host = (MOST_LENT / part.hosts.max(1)).max(LEAST_OF_HOST);
                    if part.lent < MOST_LENT && (under_way as usize) < of_host {
                        Turn::Lend(number)
                    } else {
                        Turn::Waits
                    }
                }
                _ => Turn::Waits,
            },
            Place::Here | Place::Nowhere => Turn::Here,
        }
    }

    /// Lends a host's next entry to a part.
    pub(super) fn lend(&mut self, host: usize, part: i64) {
        let Some(mut entry) = self.window.pop(host) else {
            return;
        };
        self.shared.claim(entry.hash, entry.hash);
        if let Some(nearest) = self.seen.get(&entry.hash) {
            entry.depth = entry.depth.min(u32::from(*nearest));
        }
        if let Some(known) = self.hosts.get_mut(host) {
            known.under_way += 1;
        }
        let Some(to) = self.lending.parts.get_mut(&part) else {
            return self.window.push(host, entry);
        };
        to.lent += 1;
        to.number += 1;
        self.lending.changes.push(FrontierChange::Lent {
            seq: entry.seq,
            part,
            number: to.number,
            depth: entry.depth,
        });
        let lent = Lent { part, host, entry };
        self.lending.lent.insert(lent.entry.seq, lent);
    }

    /// Notes that a request to a host has come back. A host with nothing left has no place.
    pub(super) fn came_back(&mut self, host: usize) {
        let is_dry = self.window.peek(host).is_none();
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        known.under_way = known.under_way.saturating_sub(1);
        if known.under_way == 0 && is_dry {
            let place = std::mem::replace(&mut known.place, Place::Nowhere);
            self.lending.count(place, false);
        }
    }

    /// Looks at the parts and their reports, as far as it is time.
    pub(super) async fn tend(&mut self) -> anyhow::Result<()> {
        if !self.lending.is_allowed {
            return Ok(());
        }
        let now = Instant::now();
        if self.lending.has_parts() && now >= self.lending.next_look {
            self.lending.next_look = now + POLL_INTERVAL;
            self.read_reports().await?;
        }
        if now >= self.lending.next_tend {
            self.lending.next_tend = now + self.lending.pause(now);
            if self.lending.has_parts() {
                self.look_at_parts(now).await?;
            }
            if self.ask_for_help(now).await? {
                self.lending.next_tend = now + POLL_INTERVAL;
            }
        }
        Ok(())
    }

    /// Sees who leases the parts; takes back what was lent to one that nobody does.
    async fn look_at_parts(&mut self, now: Instant) -> anyhow::Result<()> {
        let Lease { project, run, .. } = self.shared.lease;
        let clock = self.shared.crawls.clock.now();
        let states = self.shared.crawls.store.parts(run).await?;
        let is_divided = self.shared.spec.concurrency.is_some();
        let (mut free, mut gone, mut has_help) = (Vec::new(), Vec::new(), false);
        for (number, part) in &mut self.lending.parts {
            let state = states.iter().find(|state| state.part == *number);
            part.is_leased = state.is_some_and(|state| state.lease_until > clock);
            has_help |= part.is_leased && !part.was_leased;
            part.was_leased |= part.is_leased;
            if state.is_none() {
                // Its worker has given it up.
                gone.push(*number);
                self.lending.given_up += 1;
            } else if part.is_leased {
                part.free_since = now;
            } else if (part.lent > 0 || part.hosts > 0 || is_divided)
                && now.duration_since(part.free_since) > PART_TIMEOUT
            {
                free.push(*number);
            }
        }
        if has_help {
            self.lending.in_vain = 0;
        }
        for number in free {
            if self
                .shared
                .crawls
                .store
                .close_part(project, run, number, clock)
                .await?
            {
                let was_leased = self.lending.parts.get(&number).map(|part| part.was_leased);
                if was_leased == Some(false) {
                    self.lending.was_in_vain(now);
                }
                gone.push(number);
            }
        }
        for number in gone {
            self.take_back(number).await?;
        }
        Ok(())
    }

    /// Takes back what a closed part has not reported.
    async fn take_back(&mut self, number: i64) -> anyhow::Result<()> {
        self.read_reports().await?;
        self.lending.parts.remove(&number);
        for known in &mut self.hosts {
            if known.place == Place::Part(number) {
                known.place = Place::Nowhere;
            }
        }
        let lent = &mut self.lending.lent;
        let back: Vec<Lent> = lent
            .extract_if(|_, lent| lent.part == number)
            .map(|(_, lent)| lent)
            .collect();
        for Lent { host, entry, .. } in back {
            self.shared.unclaim(&[entry.hash]);
            if let Some(known) = self.hosts.get_mut(host) {
                known.under_way = known.under_way.saturating_sub(1);
            }
            self.window.push(host, entry);
        }
        let parts = u32::try_from(self.lending.parts.len()).unwrap_or(u32::MAX - 2);
        self.lending.shrunk = None;
        self.divide_concurrency(parts).await
    }

    /// Ends the parts and reads their last reports.
    pub(super) async fn recall(&mut self) -> anyhow::Result<()> {
        if !self.handle.has_parts.load(Ordering::Acquire) {
            return Ok(());
        }
        self.shared
            .crawls
            .store
            .close_parts(self.shared.lease.project, self.shared.lease.run)
            .await?;
        self.read_reports().await
    }

    /// Ends the parts for good, because the project's cap leaves no page: the workers of parts may
    /// have reserved some that they do not need.
    pub(super) async fn gather(&mut self) -> anyhow::Result<()> {
        self.recall().await?;
        for number in self.lending.numbers() {
            self.take_back(number).await?;
        }
        self.lending.is_allowed = false;
        self.lending.settled = Some(Instant::now() + SETTLE);
        Ok(())
    }
}

/// Whether other nodes may work on a run.
pub(super) fn may_lend(crawls: &Crawls, spec: &CrawlSpec) -> bool {
    // A session of the browser lives in one process.
    crawls.store.is_shared() && crawls.config.parts > 0 && spec.session.is_none()
}
