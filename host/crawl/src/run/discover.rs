//! Discovery of a run's URLs: its seed, and links.

use std::sync::Arc;

use orbweaver_core::guard::parse_strict;
use orbweaver_core::key_hash::key_hash;
use orbweaver_core::page::Links;
use orbweaver_engine::JudgedLink;
use orbweaver_store::crawl::{NewFrontier, SkipReason};
use orbweaver_urls::{Resolved, key_of};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::again;
use super::host::{Host, Place, Robots};
use super::state::{Crawler, Sitemaps};
use crate::commit::CommitItem;
use crate::entry::{Entry, host_key};
use crate::frontier::REFILL;
use crate::hooks::verdict::Hooked;
use crate::scope::{Judging, Verdict};
use crate::seed;
use crate::spec::SeedKind;

/// Hosts of one run: more subdomains are made up as they are asked for.
const MAX_HOSTS: usize = 1_000;
/// URLs that are remembered as disallowed by robots.txt, so that they are counted once.
const MAX_DISALLOWED: usize = 1 << 18;
/// Steps of matching patterns that the URLs which hooks wrote for one page may take: they are judged
/// in the run's own task, for about ten milliseconds.
const MAX_CHANGED_STEPS: u64 = 8 << 20;

impl Crawler {
    /// Puts the seed in the queue, or has its sitemaps read.
    pub(super) async fn begin(&mut self, seed: &Resolved) {
        match self.shared.spec.seed_kind {
            SeedKind::Url if self.next_seq == 0 && !self.shared.spec.list => {
                let url = seed.without_fragment().to_owned();
                let hash = self.hash(seed);
                let mut found = Vec::new();
                self.admit(seed, url, hash, (0, 0), &mut found);
                let item = self.item();
                let discovered = found;
                self.send(CommitItem { discovered, ..item }).await;
            }
            SeedKind::Sitemap if !self.notes.sitemaps_read => {
                let (send, found) = mpsc::channel(1);
                let (wanted, is_wanted) = watch::channel(true);
                let task = tokio::spawn(seed::read(Arc::clone(&self.shared), send, is_wanted));
                self.sitemaps = Some(Sitemaps {
                    found,
                    wanted,
                    task,
                });
                self.look_at_site(seed);
            }
            SeedKind::Url | SeedKind::Sitemap => {}
        }
    }

    /// Reads on in the database when there is room in memory.
    pub(super) async fn refill(&mut self) -> anyhow::Result<()> {
        let Some(from) = self.window.wants() else {
            return Ok(());
        };
        // URLs that are not written yet can't be read, and come in order behind those that are.
        let complete = *self.handle.written.borrow() >= self.sent;
        let shared = Arc::clone(&self.shared);
        let store = &shared.crawls.store;
        let rows = store
            .frontier_queued(shared.lease.project, shared.lease.run, from - 1, REFILL)
            .await?;
        let whole = rows.len() < REFILL as usize;
        let (now, clock) = (Instant::now(), shared.crawls.clock.now());
        let mut next = from;
        for row in rows {
            next = row.seq + 1;
            if self.window.is_ahead(row.seq) {
                continue;
            }
            let Some(url) = Resolved::parse(&row.url) else {
                continue;
            };
            let Some(host) = self.host(&url) else {
                continue;
            };
            let entry = Entry {
                seq: row.seq,
                hash: self.hash(&url),
                url: row.url,
                depth: row.depth,
                attempts: row.attempts,
                priority: row.priority,
            };
            match (row.next_at - clock).to_std() {
                Ok(wait) if !wait.is_zero() => {
                    self.window
                        .postpone(host, entry, now + wait.min(self.max_wait()));
                }
                _ => self.window.push(host, entry),
            }
        }
        self.window.set_tail((!(whole && complete)).then_some(next));
        Ok(())
    }

    /// Takes the links of a page `distance` links from the seed. `page` is the URL that answered.
    pub(super) fn discover(
        &mut self,
        page: &str,
        links: &Links,
        targets: &[(u64, u32)],
        hooked: Option<&Hooked>,
        distance: u32,
        found: &mut Vec<NewFrontier>,
    ) {
        let next = distance + 1;
        let (mut deep, mut is_cut) = (0, false);
        let mut judging = self.judging();
        self.robots_steps = 0;
        for (hash, index) in targets {
            if let Some(known) = self.seen.get_mut(hash) {
                if u32::from(*known) > next {
                    let before = u32::from(std::mem::replace(known, depth(next)));
                    // Its own links may be within reach now.
                    if let Some(link) = links.get(*index as usize)
                        && self.shared.claimer(*hash).is_some()
                    {
                        self.nearer.put(again::Page {
                            url: link.to.to_owned(),
                            distance: depth(next),
                            is_taken: before < self.shared.spec.depth,
                        });
                    }
                }
                continue;
            }
            if next > self.shared.spec.depth {
                deep += 1;
                self.skipped_links.note(*hash, SkipReason::Depth);
                continue;
            }
            let mut priority = 0;
            if let Some(judged) = hooked.and_then(|hooked| hooked.link(*index)) {
                if judged.skipped.is_some() {
                    continue;
                }
                if judged.is_changed {
                    let is_again = hooked.is_some_and(|hooked| hooked.is_again);
                    is_cut |= self.take_changed(judged, next, found, &mut judging, is_again);
                    continue;
                }
                priority = judged.priority;
            }
            let link = links.get(*index as usize);
            let Some(url) = link.and_then(|link| Resolved::parse(link.to)) else {
                continue;
            };
            let to = url.without_fragment().to_owned();
            if let Some(why) = self.admit(&url, to, *hash, (next, priority), found) {
                self.skip(why, 1);
                is_cut |= why == SkipReason::Budget && self.has_enough();
            }
        }
        self.skip(SkipReason::Depth, deep);
        if let Some(hooked) = hooked {
            if !hooked.is_again {
                self.skip(SkipReason::Hook, hooked.skipped);
            }
            for judged in &hooked.added {
                is_cut |= self.take_changed(judged, next, found, &mut judging, hooked.is_again);
            }
        }
        if is_cut {
            self.partly.put(again::Page {
                url: page.to_owned(),
                distance: depth(distance),
                is_taken: true,
            });
            if !std::mem::replace(&mut self.notes.was_cut, true) {
                self.note();
            }
        }
    }

    /// Takes a URL that a hook wrote for a page, and counts it if it is left out; whether that is for want
    /// of room. `is_again`: the page's links were taken before.
    fn take_changed(
        &mut self,
        judged: &JudgedLink,
        next: u32,
        found: &mut Vec<NewFrontier>,
        judging: &mut Judging,
        is_again: bool,
    ) -> bool {
        if is_again && let Some(url) = Resolved::parse(&judged.url) {
            self.unskip_link(self.hash(&url));
        }
        let left_out = self.admit_changed(judged, next, found, judging);
        let is_cut = left_out == Some(SkipReason::Budget) && self.has_enough();
        // Those for another reason count since the first time.
        let counts =
            |why: &SkipReason| !is_again || matches!(why, SkipReason::Depth | SkipReason::Budget);
        if let Some(why) = left_out.filter(counts) {
            self.skip(why, 1);
        }
        is_cut
    }

    /// Judges what hooks wrote for one page, by the current scope.
    pub(super) fn judging(&self) -> Judging {
        Judging::new(self.shared.scope.load_full(), MAX_CHANGED_STEPS)
    }

    /// Takes a URL that a hook wrote, within the scope, the depth and the budgets; why not.
    pub(super) fn admit_changed(
        &mut self,
        judged: &JudgedLink,
        next: u32,
        found: &mut Vec<NewFrontier>,
        judging: &mut Judging,
    ) -> Option<SkipReason> {
        // A plugin's URL is a caller's: it must not mean two things.
        let parsed = parse_strict(&judged.url).ok();
        let url = parsed.and_then(|_| Resolved::parse(&judged.url));
        if next > self.shared.spec.depth {
            if let Some(url) = url {
                self.skipped_links.note(self.hash(&url), SkipReason::Depth);
            }
            return Some(SkipReason::Depth);
        }
        let Some(url) = url else {
            return Some(SkipReason::Scope);
        };
        let hash = self.hash(&url);
        if self.seen.contains_key(&hash) {
            return None;
        }
        match judging.judge(&url) {
            None => {
                // As of what `admit` leaves out.
                if next > 0 {
                    self.skipped_links.note(hash, SkipReason::Budget);
                }
                return Some(SkipReason::Budget);
            }
            Some(Verdict::Out) => return Some(SkipReason::Scope),
            Some(Verdict::Excluded) => return Some(SkipReason::Excluded),
            Some(Verdict::In) => {}
        }
        let to = url.without_fragment().to_owned();
        self.admit(&url, to, hash, (next, judged.priority), found)
    }

    /// Takes a new URL into the frontier, within the budgets: its links from the seed, and its
    /// priority; else why not. What the request or a sitemap lists is no trap, however it looks,
    /// because a list ends: it has no links between it and the seed. What robots.txt disallows
    /// takes no place from others, as far as it is looked at: see [`is_disallowed`](Self::is_disallowed).
    pub(super) fn admit(
        &mut self,
        url: &Resolved,
        to: String,
        hash: u64,
        (distance, priority): (u32, i32),
        found: &mut Vec<NewFrontier>,
    ) -> Option<SkipReason> {
        let is_listed = distance == 0;
        // A piece of a sitemap is taken as a whole, if any of it is.
        let beyond = if is_listed { seed::PIECE as u64 } else { 0 };
        let has_room = !self.has_enough_of(priority, beyond);
        if has_room && self.is_disallowed(url) {
            if self.disallowed < MAX_DISALLOWED {
                self.disallowed += 1;
                self.seen.insert(hash, 0);
                self.shared.hooks.know(hash);
            }
            return Some(SkipReason::Robots);
        }
        let fits = has_room && (is_listed || self.traps.admit(url));
        let Some(host) = fits.then(|| self.host(url)).flatten() else {
            if !is_listed {
                self.skipped_links.note(hash, SkipReason::Budget);
            }
            return Some(SkipReason::Budget);
        };
        self.seen.insert(hash, depth(distance));
        for (reason, count) in self.skipped_links.take(hash) {
            self.unskip(reason, count);
        }
        self.shared.hooks.know(hash);
        let seq = self.next_seq;
        self.next_seq += 1;
        self.pending += 1;
        found.push(NewFrontier {
            seq,
            url: to.clone(),
            key_hash: hash,
            depth: distance,
            priority,
        });
        let entry = Entry {
            seq,
            url: to,
            hash,
            depth: distance,
            attempts: 0,
            priority,
        };
        self.window.discover(host, entry);
        None
    }

    /// A URL's host in the run; `None` for one too many.
    pub(super) fn host(&mut self, url: &Resolved) -> Option<usize> {
        let key = host_key(url);
        if let Some(index) = self.host_index.get(&key) {
            return Some(*index);
        }
        if self.hosts.len() >= MAX_HOSTS && !self.shared.spec.list {
            return None;
        }
        let index = self.hosts.len();
        self.hosts.push(Host {
            turn: self.shared.turn(&key),
            robots: Robots::Unknown,
            allowed: None,
            place: Place::Nowhere,
            under_way: 0,
        });
        self.host_index.insert(key, index);
        Some(index)
    }

    pub(super) fn hash(&self, url: &Resolved) -> u64 {
        key_hash(&key_of(url, self.shared.rules))
    }

    pub(super) fn skip(&self, reason: SkipReason, count: u64) {
        if count > 0 {
            let mut progress = self.handle.progress.lock();
            *progress.skipped.entry(reason).or_default() += count;
        }
    }

    /// Takes back that a link to a URL was skipped, because its page's links are looked at again.
    pub(super) fn unskip_link(&mut self, hash: u64) {
        if let Some(reason) = self.skipped_links.take_one(hash) {
            self.unskip(reason, 1);
        }
    }

    /// Takes back that so many links were skipped.
    fn unskip(&self, reason: SkipReason, count: u64) {
        if count > 0 {
            let mut progress = self.handle.progress.lock();
            if let Some(skipped) = progress.skipped.get_mut(&reason) {
                *skipped = skipped.saturating_sub(count);
            }
            progress.skipped.retain(|_, count| *count > 0);
        }
    }
}

/// Depth as it is remembered; the deepest that is asked for is 50.
pub(super) fn depth(depth: u32) -> u8 {
    u8::try_from(depth).unwrap_or(u8::MAX)
}
