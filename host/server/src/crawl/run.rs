//! One run: decides what is fetched next, takes what fetches found, and ends it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use chrono::TimeDelta;
use futures::FutureExt as _;
use orbweaver_core::key_hash::key_hash;
use orbweaver_core::page::Links;
use orbweaver_fetch::{CookieJar, RobotsAnswer};
use orbweaver_store::Amount;
use orbweaver_store::crawl::{Ending, FrontierChange, LeasedRun, NewFrontier, unpack_links};
use orbweaver_urls::{KeyRules, Resolved, key_of};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::commit::{Committer, Fate, Item, RunHandle};
use super::fetch::{self, End, Entry, Fetched, Outcome, Shared, host_key};
use super::frontier::{Seen, WINDOW, Window};
use super::limiter::Limiter;
use super::page;
use super::politeness::Gate;
use super::scope::{Scope, Verdict};
use super::seed;
use super::spec::{CrawlSpec, SeedKind};
use super::traps::Traps;
use crate::app::App;
use crate::accounts::quota::{QuotaError, Reservation};
use crate::clock::Clock;
use crate::webhooks::end_run;

/// Rows read at once when a run is taken up.
const CHUNK: u32 = 4_096;
/// Hosts of one run: more subdomains are made up as they are asked for.
const MAX_HOSTS: usize = 1_000;
/// Pages set aside at a time.
const BLOCK: u64 = 512;
/// URLs admitted beyond `max_pages`, in place of those that fail.
const SPARE: u64 = 1_024;
/// How long a run goes by the robots.txt that it has, before it asks the cache again.
const ROBOTS_LIFE: Duration = Duration::from_secs(600);
/// URLs of a sitemap in one commit.
const SITEMAP_CHUNK: usize = 1_000;
/// How long requests under way may go on when the process stops.
const GRACE: Duration = Duration::from_secs(3);

/// What the engine writes down to go on with a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Notes {
    /// A URL of the site that the seed redirects to.
    site: Option<String>,
    /// All sitemaps are read.
    sitemaps_read: bool,
}

/// A host of the run.
struct Host {
    gate: Arc<Gate>,
    delay: Duration,
    robots: Robots,
}

enum Robots {
    Unknown,
    Loading,
    Known(Arc<RobotsAnswer>, Instant),
}

/// What a host's turn came to.
enum Turn {
    /// An entry is on its way, or was left out.
    Went,
    /// Not before then.
    At(Instant),
    /// Something else has to happen first.
    Waits,
}

type Done = (Outcome, Option<OwnedSemaphorePermit>);

struct Engine {
    shared: Arc<Shared>,
    handle: Arc<RunHandle>,
    committer: Committer,
    notes: Notes,
    hosts: Vec<Host>,
    host_index: HashMap<String, usize>,
    seen: Seen,
    window: Window,
    traps: Traps,
    limiter: Limiter,
    fetches: JoinSet<Done>,
    robots: JoinSet<(usize, Arc<RobotsAnswer>)>,
    sitemaps: Option<Sitemaps>,
    site: Option<JoinHandle<()>>,
    /// Numbers of entries left out since the last item.
    left_out: Vec<i64>,
    /// Pages that turned out to be nearer to the seed than when they were fetched.
    nearer: Vec<String>,
    next_seq: i64,
    /// URLs admitted and neither done, failed nor left out.
    pending: u64,
    /// Page rows, those that are still to be written included.
    rows: u64,
    /// Items handed to the committer.
    sent: u64,
    /// Pages set aside for the run.
    reserved: Option<Reservation>,
    /// The cap that was reached.
    capped: Option<String>,
    /// Why there is no seed.
    failure: Option<String>,
    random: u64,
}

struct Sitemaps {
    found: mpsc::Receiver<Vec<String>>,
    task: JoinHandle<anyhow::Result<()>>,
}

/// A random number to begin with.
pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without the system's randomness, user agents rotate in a fixed order.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Works on a run until it ends, is handed back or lost.
pub(super) async fn run(app: App, leased: LeasedRun, handle: Arc<RunHandle>, committer: Committer) {
    let lease = leased.lease;
    let mut fate = handle.fate.subscribe();
    let worked = async {
        match Engine::new(app.clone(), &leased, Arc::clone(&handle), committer).await {
            Ok(mut engine) => engine.work().await,
            Err(error) => Some(Ending {
                done: false,
                error_message: Some(format!("{error:#}")),
            }),
        }
    };
    let ending = match AssertUnwindSafe(worked).catch_unwind().await {
        Ok(ending) => ending,
        Err(_) => Some(Ending {
            done: false,
            error_message: Some("the engine gave up: a fault of ours".to_owned()),
        }),
    };
    let fate = fate.borrow_and_update().clone();
    let (ended, what) = match (fate, ending) {
        (Fate::Lost, _) => {
            return tracing::info!(run.id = %lease.run, "a crawl is not ours any more");
        }
        (Fate::Broken(why), _) => {
            let ending = Ending {
                done: false,
                error_message: Some(format!("the engine gave up: {why}")),
            };
            (end_run(&app, &leased.run, lease, &ending).await, "end")
        }
        (_, Some(ending)) => (end_run(&app, &leased.run, lease, &ending).await, "end"),
        (_, None) => (app.store.release_lease(lease).await, "hand back"),
    };
    if let Err(error) = ended {
        // Its lease runs out, and the next worker does it.
        tracing::error!(%error, run.id = %lease.run, "cannot {what} a crawl");
    }
}

impl Engine {
    async fn new(
        app: App,
        leased: &LeasedRun,
        handle: Arc<RunHandle>,
        committer: Committer,
    ) -> anyhow::Result<Self> {
        let config = app.config.crawl.clone();
        let spec: CrawlSpec = serde_json::from_str(&leased.run.spec).context("the run's spec")?;
        let notes: Notes = serde_json::from_str(&leased.engine_state).unwrap_or_default();
        let seed = Resolved::parse(&spec.url).context("the seed is no URL")?;
        let mut scope = Scope::new(&spec, &seed)?;
        let site = notes.site.as_deref().and_then(Resolved::parse);
        if let Some(wider) = site.and_then(|site| scope.with_site(&site)) {
            scope = wider;
        }
        let mut extractors = app.config.scan.extractors.clone();
        for name in &spec.extractors {
            if !extractors.contains(name) {
                extractors.push(name.clone());
            }
        }
        let shared = Shared {
            lease: leased.lease,
            scope: ArcSwap::from_pointee(scope),
            rules: KeyRules {
                drop_tracking: config.drop_tracking,
            },
            jar: CookieJar::new(),
            proxy: spec.proxy().context("the project's proxy")?,
            claims: Default::default(),
            previous: leased.run.previous,
            extractors,
            spec,
            app,
        };
        let mut engine = Self {
            limiter: Limiter::new(shared.spec.concurrency, config.max_concurrency),
            traps: Traps::new(config.template_budget),
            shared: Arc::new(shared),
            handle,
            committer,
            notes,
            hosts: Vec::new(),
            host_index: HashMap::new(),
            seen: Seen::default(),
            window: Window::default(),
            fetches: JoinSet::new(),
            robots: JoinSet::new(),
            sitemaps: None,
            site: None,
            left_out: Vec::new(),
            nearer: Vec::new(),
            next_seq: 0,
            pending: 0,
            rows: leased.run.page_count,
            sent: 0,
            reserved: None,
            capped: None,
            failure: None,
            random: random(),
        };
        engine.resume().await?;
        engine.begin(&seed).await;
        Ok(engine)
    }

    /// Takes up what earlier workers have left.
    async fn resume(&mut self) -> anyhow::Result<()> {
        let shared = Arc::clone(&self.shared);
        let run = shared.lease.run;
        let (mut failed, mut after) = (0, -1);
        loop {
            let rows = shared.app.store.frontier_known(run, after, CHUNK).await?;
            let Some(last) = rows.last() else { break };
            after = last.seq;
            for row in rows {
                self.seen.insert(row.key_hash, depth(row.depth));
                if let Some(url) = Resolved::parse(&row.url) {
                    self.traps.admit(&url);
                }
                self.next_seq = row.seq + 1;
                self.pending += u64::from(row.queued);
                failed += u64::from(row.failed);
                if row.queued {
                    self.window.resume_at(row.seq);
                }
                if row.done {
                    let mut claims = shared.claims.lock();
                    claims.insert(row.key_hash);
                    claims.extend(row.redirect_to);
                }
            }
        }
        if self.next_seq > 0 && self.pending == 0 && self.rows == 0 {
            self.failure = Some("the seed could not be fetched".to_owned());
        }
        let mut progress = self.handle.progress.lock();
        progress.queued = self.pending;
        progress.failed = failed;
        progress.fetched = self.rows;
        Ok(())
    }

    /// Puts the seed in the queue, or has its sitemaps read.
    async fn begin(&mut self, seed: &Resolved) {
        match self.shared.spec.seed_kind {
            SeedKind::Url if self.next_seq == 0 => {
                let url = seed.without_fragment().to_owned();
                let hash = self.hash(seed);
                let mut found = Vec::new();
                self.admit(seed, url, hash, 0, &mut found);
                let item = self.item();
                let discovered = found;
                self.send(Item { discovered, ..item }).await;
            }
            SeedKind::Sitemap if !self.notes.sitemaps_read => {
                let (send, found) = mpsc::channel(1);
                let task = tokio::spawn(seed::read(Arc::clone(&self.shared), send));
                self.sitemaps = Some(Sitemaps { found, task });
                self.look_at_site(seed);
            }
            SeedKind::Url | SeedKind::Sitemap => {}
        }
    }

    /// Until the run ends; `None` when it is to be handed back or dropped.
    async fn work(&mut self) -> Option<Ending> {
        let mut fate = self.handle.fate.subscribe();
        let mut written = self.handle.written.subscribe();
        loop {
            if *fate.borrow() != Fate::Going {
                return self.wind_up().await;
            }
            if let Err(error) = self.refill().await {
                return Some(gave_up(&error));
            }
            if let Err(error) = self.reserve().await {
                return Some(gave_up(&error));
            }
            let wake = self.launch();
            if !self.left_out.is_empty() {
                let seqs = std::mem::take(&mut self.left_out).into_iter();
                let changes = seqs.map(|seq| FrontierChange::Skipped { seq }).collect();
                let item = self.item();
                self.send(Item { changes, ..item }).await;
            }
            if self.is_over() {
                if self.nearer.is_empty() || self.is_full() {
                    break;
                }
                self.flush().await;
                if let Err(error) = self.follow_nearer().await {
                    return Some(gave_up(&error));
                }
                continue;
            }
            tokio::select! {
                Some(done) = self.fetches.join_next(), if !self.fetches.is_empty() => {
                    if let Ok((outcome, room)) = done {
                        self.take(outcome, room).await;
                    }
                }
                Some(Ok((host, answer))) = self.robots.join_next(), if !self.robots.is_empty() => {
                    self.take_robots(host, answer);
                }
                more = async { self.sitemaps.as_mut()?.found.recv().await }, if self.wants_sitemaps() => {
                    self.take_sitemap(more).await;
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
                _ = written.changed(), if self.window.wants().is_some() => {}
                _ = fate.changed() => {}
            }
        }
        self.flush().await;
        if *self.handle.fate.borrow() != Fate::Going {
            return None;
        }
        if let Some(site) = self.site.take() {
            let _ = site.await;
        }
        let failure = self.failure.take().filter(|_| self.rows == 0);
        Some(Ending {
            done: self.rows > 0 || (failure.is_none() && self.capped.is_none()),
            error_message: failure.or_else(|| self.capped.take()),
        })
    }

    /// Lets requests under way end, and what they bring be written.
    async fn wind_up(&mut self) -> Option<Ending> {
        if *self.handle.fate.borrow() == Fate::Stop {
            let until = Instant::now() + GRACE;
            while let Ok(Some(done)) =
                tokio::time::timeout_at(until, self.fetches.join_next()).await
            {
                if let Ok((outcome, room)) = done {
                    self.take(outcome, room).await;
                }
            }
            self.flush().await;
        }
        if let Some(sitemaps) = &self.sitemaps {
            sitemaps.task.abort();
        }
        if let Some(site) = &self.site {
            site.abort();
        }
        None
    }

    /// Whether no page more is wanted, or may be had.
    fn is_full(&self) -> bool {
        self.rows >= u64::from(self.shared.spec.max_pages) || self.capped.is_some()
    }

    /// Pages set aside and not billed.
    fn allowance(&self) -> u64 {
        self.reserved.as_ref().map_or(0, |pages| pages.left().pages)
    }

    /// Sets pages aside, a block at a time, so that no cap is passed. What a block has left
    /// when the next one is taken goes back, and so does what is left at the end.
    async fn reserve(&mut self) -> anyhow::Result<()> {
        if self.is_full() || self.window.is_empty() {
            return Ok(());
        }
        let under_way = self.fetches.len() as u64;
        let quota = &self.shared.app.quota;
        if let Some(reserved) = &self.reserved {
            let enough = reserved.left().pages > under_way && quota.is_current(reserved);
            // Where the cap has cut a block, there is no more before this one is used up.
            if enough || (reserved.short().is_some() && under_way > 0) {
                return Ok(());
            }
        }
        let max = u64::from(self.shared.spec.max_pages);
        let want = BLOCK.min(max.saturating_sub(self.rows)).max(under_way + 1);
        let project = self.shared.lease.project;
        match quota.reserve_up_to(project, Amount::pages(want)).await {
            // What is under way is billed to the new block, so the old one goes back.
            Ok(reserved) => self.reserved = Some(reserved),
            Err(QuotaError::Store(error)) => return Err(error.into()),
            Err(error) => self.capped = Some(error.to_string()),
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.fetches.is_empty()
            && (self.is_full()
                || (self.window.is_empty() && self.sitemaps.is_none() && self.robots.is_empty()))
    }

    /// Sends out what limits, gates and robots.txt allow; when to try again.
    fn launch(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.window.ripen(now);
        let mut wake = self.window.next_ripe();
        let mut idle = 0;
        while idle < self.window.waiting_hosts()
            && self.fetches.len() < self.limiter.limit()
            && (self.fetches.len() as u64) < self.allowance()
            && self.rows + (self.fetches.len() as u64) < u64::from(self.shared.spec.max_pages)
        {
            let Some(host) = self.window.next_host() else {
                break;
            };
            match self.turn(host, now) {
                Turn::Went => idle = 0,
                Turn::Waits => idle += 1,
                Turn::At(at) => {
                    wake = Some(wake.map_or(at, |wake| wake.min(at)));
                    idle += 1;
                }
            }
        }
        wake
    }

    fn turn(&mut self, host: usize, now: Instant) -> Turn {
        if self.shared.spec.respect_robots && !self.has_robots(host, now) {
            return Turn::Waits;
        }
        let (Some(entry), Some(known)) = (self.window.peek(host), self.hosts.get(host)) else {
            return Turn::Waits;
        };
        if let Robots::Known(answer, _) = &known.robots
            && self.shared.spec.respect_robots
            && !Url::parse(&entry.url).is_ok_and(|url| answer.rules.allows_url(&url))
        {
            let why = if answer.robots.is_unreachable() {
                "robots.txt can't be had, which disallows everything"
            } else {
                "robots.txt disallows it"
            };
            return self.leave_out(host, "robots", why);
        }
        let owns = entry.attempts > 0;
        if !owns && self.shared.claims.lock().contains(&entry.hash) {
            return self.leave_out(host, "duplicate", "another URL redirects to it");
        }
        if let Err(open) = known.gate.take(now, known.delay) {
            return Turn::At(open);
        }
        let delay = known.delay;
        let Some(mut entry) = self.window.pop(host) else {
            return Turn::Waits;
        };
        self.shared.claim(entry.hash);
        if let Some(nearest) = self.seen.get(&entry.hash) {
            entry.depth = entry.depth.min(u32::from(*nearest));
        }
        self.random = next_random(self.random);
        let work = fetch_in_turn(Arc::clone(&self.shared), entry, host, delay, self.random);
        let committer = self.committer.clone();
        self.fetches.spawn(async move {
            let outcome = work.await;
            let bytes = match &outcome.end {
                End::Page(fetched) => fetched.row.page.body.as_ref().map_or(0, |b| b.bytes.len()),
                _ => 0,
            };
            let room = committer.room(bytes).await;
            (outcome, room)
        });
        Turn::Went
    }

    /// Whether a host's robots.txt is known; asks for it where it is not.
    fn has_robots(&mut self, host: usize, now: Instant) -> bool {
        let Some(known) = self.hosts.get_mut(host) else {
            return false;
        };
        let (load, usable) = match &known.robots {
            Robots::Unknown => (true, false),
            Robots::Loading => (false, false),
            Robots::Known(_, since) => (now.duration_since(*since) > ROBOTS_LIFE, true),
        };
        if load && let Some(url) = self.window.peek(host).and_then(|e| Url::parse(&e.url).ok()) {
            match &mut known.robots {
                Robots::Known(_, since) => *since = now,
                other => *other = Robots::Loading,
            }
            let shared = Arc::clone(&self.shared);
            self.robots.spawn(async move {
                let fetcher = &shared.app.pipeline.fetcher;
                (host, fetcher.site_files().robots(fetcher, &url).await)
            });
        }
        usable
    }

    fn take_robots(&mut self, host: usize, answer: Arc<RobotsAnswer>) {
        let config = &self.shared.app.config.crawl;
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        // What was answered before holds while the file can't be had.
        if matches!(&known.robots, Robots::Known(old, _) if !old.robots.is_unreachable())
            && answer.robots.is_unreachable()
        {
            return;
        }
        let asked = answer.rules.crawl_delay.unwrap_or(0.0).max(0.0);
        let asked = Duration::try_from_secs_f64(asked).unwrap_or(Duration::MAX);
        known.delay = Duration::from_millis(self.shared.spec.delay_ms)
            .max(asked.min(Duration::from_millis(config.max_wait_ms)));
        // The file itself was a request to the host.
        known.gate.close_until(Instant::now() + known.delay);
        known.robots = Robots::Known(answer, Instant::now());
    }

    /// Leaves a host's next entry out.
    fn leave_out(&mut self, host: usize, reason: &str, why: &str) -> Turn {
        let Some(entry) = self.window.pop(host) else {
            return Turn::Waits;
        };
        if self.shared.is_seed(&entry) {
            self.failure = Some(why.to_owned());
        }
        self.pending = self.pending.saturating_sub(1);
        self.skip(reason, 1);
        self.left_out.push(entry.seq);
        Turn::Went
    }

    /// Takes what a fetch brought.
    async fn take(&mut self, outcome: Outcome, room: Option<OwnedSemaphorePermit>) {
        let Outcome {
            entry,
            host,
            end,
            redirects,
            chain,
        } = outcome;
        let now = Instant::now();
        if redirects > 0
            && let Some(known) = self.hosts.get(host)
        {
            known
                .gate
                .charge(now, known.delay.saturating_mul(redirects));
        }
        let mut item = self.item();
        item.room = room;
        match end {
            End::Page(fetched) => {
                let status = fetched.row.page.status;
                if matches!(status, 429 | 503) {
                    self.limiter.overloaded(now);
                } else {
                    self.limiter.answered(fetched.latency, now);
                }
                let wait = fetched.retry_after.map(|wait| wait.min(self.max_wait()));
                if let Some(wait) = wait {
                    self.close_host(host, wait).await;
                }
                if matches!(status, 429 | 502 | 503 | 504) && self.may_retry(&entry) {
                    self.shared.unclaim(&chain);
                    item.changes = vec![self.again(host, entry, wait.unwrap_or_default(), now)];
                } else {
                    self.accept(entry, *fetched, &mut item);
                }
            }
            End::Merged(target) => {
                self.pending = self.pending.saturating_sub(1);
                item.changes = vec![FrontierChange::Done {
                    seq: entry.seq,
                    redirect_to: Some(target),
                }];
            }
            End::Failed(error) if fetch::is_robots(&error) => {
                self.shared.unclaim(&chain);
                self.pending = self.pending.saturating_sub(1);
                self.skip("robots", 1);
                if self.shared.is_seed(&entry) {
                    self.failure = Some(error.message);
                }
                item.changes = vec![FrontierChange::Skipped { seq: entry.seq }];
            }
            End::Failed(error) => {
                self.shared.unclaim(&chain);
                if fetch::is_overload(&error) {
                    self.limiter.overloaded(now);
                }
                if error.retryable && self.may_retry(&entry) {
                    item.changes = vec![self.again(host, entry, Duration::ZERO, now)];
                } else {
                    self.give_up(&entry, error.message, &mut item);
                }
            }
            End::Broken(message) => {
                self.shared.unclaim(&chain);
                self.give_up(&entry, message, &mut item);
            }
        }
        self.send(item).await;
    }

    fn give_up(&mut self, entry: &Entry, message: String, item: &mut Item) {
        tracing::debug!(run.id = %self.shared.lease.run, url = %entry.url, "gave up: {message}");
        self.pending = self.pending.saturating_sub(1);
        self.handle.progress.lock().failed += 1;
        if self.shared.is_seed(entry) {
            self.failure = Some(message);
        }
        item.error = true;
        item.changes = vec![FrontierChange::Failed { seq: entry.seq }];
    }

    fn may_retry(&self, entry: &Entry) -> bool {
        entry.attempts < self.shared.app.config.crawl.retries
    }

    fn max_wait(&self) -> Duration {
        Duration::from_millis(self.shared.app.config.crawl.max_wait_ms)
    }

    /// Puts an entry off: twice as long every time, and at least as long as was asked for.
    fn again(
        &mut self,
        host: usize,
        mut entry: Entry,
        asked: Duration,
        now: Instant,
    ) -> FrontierChange {
        let base = Duration::from_millis(self.shared.app.config.crawl.retry_base_ms);
        self.random = next_random(self.random);
        // Up to a quarter more, so that what failed together does not come back together.
        let jitter = base.mul_f64((self.random % 1_000) as f64 / 4_000.0);
        let wait = base.saturating_mul(1 << entry.attempts.min(10)) + jitter;
        let wait = wait.max(asked).min(self.max_wait());
        entry.attempts += 1;
        let change = FrontierChange::Again {
            seq: entry.seq,
            attempts: entry.attempts,
            next_at: self.shared.app.clock.now()
                + TimeDelta::from_std(wait).unwrap_or(TimeDelta::zero()),
        };
        self.window.postpone(host, entry, now + wait);
        change
    }

    async fn close_host(&mut self, host: usize, wait: Duration) {
        if let Some(known) = self.hosts.get(host) {
            known.gate.close_until(Instant::now() + wait);
        }
        let app = &self.shared.app;
        if app.store.is_shared()
            && let Some((name, _)) = self.host_index.iter().find(|(_, index)| **index == host)
            && let Ok(wait) = TimeDelta::from_std(wait)
            && let Err(error) = app
                .store
                .close_host(name, Clock::system().now() + wait)
                .await
        {
            tracing::warn!(%error, "cannot tell other nodes of a Retry-After");
        }
    }

    /// A page row, and what it leads to.
    fn accept(&mut self, entry: Entry, mut fetched: Fetched, item: &mut Item) {
        self.rows += 1;
        self.pending = self.pending.saturating_sub(1);
        if self.shared.is_seed(&entry) {
            self.widen(&mut fetched);
        }
        self.skip("scope", fetched.out_of_scope);
        self.skip("excluded", fetched.excluded);
        if self.shared.spec.seed_kind == SeedKind::Url {
            self.discover(
                &fetched.links,
                &fetched.found,
                entry.depth,
                &mut item.discovered,
            );
        }
        self.handle.progress.lock().fetched += 1;
        item.usage = self.reserved.as_mut().map(|reserved| {
            let token = format!("run:{}:{}", self.shared.lease.run, entry.seq);
            reserved.usage(token, "crawl", Amount::pages(1), 0)
        });
        item.changes = vec![FrontierChange::Done {
            seq: entry.seq,
            redirect_to: fetched.redirect_to,
        }];
        item.page = Some(fetched.row);
    }

    /// The seed's answer says which host is in scope besides its own.
    fn widen(&mut self, fetched: &mut Fetched) {
        let Some(landed) = Resolved::parse(&fetched.row.page.final_url) else {
            return;
        };
        self.look_at_site(&landed);
        let wider = self.shared.scope.load().with_site(&landed);
        if let Some(wider) = wider {
            self.shared.scope.store(Arc::new(wider));
            page::judge_again(&self.shared, fetched);
            self.notes.site = Some(landed.as_str().to_owned());
            self.note();
        }
    }

    fn note(&self) {
        *self.handle.notes.lock() = serde_json::to_string(&self.notes).ok();
    }

    /// Takes the links of a page `distance` links from the seed.
    fn discover(
        &mut self,
        links: &Links,
        targets: &[(u64, u32)],
        distance: u32,
        found: &mut Vec<NewFrontier>,
    ) {
        let next = distance + 1;
        let (mut deep, mut budget) = (0, 0);
        for (hash, index) in targets {
            if let Some(known) = self.seen.get_mut(hash) {
                if u32::from(*known) > next {
                    *known = depth(next);
                    // Its own links may be within reach now.
                    if let Some(link) = links.get(*index as usize)
                        && self.shared.claims.lock().contains(hash)
                    {
                        self.nearer.push(link.to.to_owned());
                    }
                }
                continue;
            }
            if next > self.shared.spec.depth {
                deep += 1;
                continue;
            }
            let link = links.get(*index as usize);
            let Some(url) = link.and_then(|link| Resolved::parse(link.to)) else {
                continue;
            };
            let to = url.without_fragment().to_owned();
            budget += u64::from(!self.admit(&url, to, *hash, next, found));
        }
        self.skip("depth", deep);
        self.skip("budget", budget);
    }

    /// Takes a new URL into the frontier, within the budgets.
    fn admit(
        &mut self,
        url: &Resolved,
        to: String,
        hash: u64,
        distance: u32,
        found: &mut Vec<NewFrontier>,
    ) -> bool {
        let max = u64::from(self.shared.spec.max_pages) + SPARE;
        if self.rows + self.pending >= max || !self.traps.admit(url) {
            return false;
        }
        let Some(host) = self.host(url) else {
            return false;
        };
        self.seen.insert(hash, depth(distance));
        let seq = self.next_seq;
        self.next_seq += 1;
        self.pending += 1;
        found.push(NewFrontier {
            seq,
            url: to.clone(),
            key_hash: hash,
            depth: distance,
        });
        let entry = Entry {
            seq,
            url: to,
            hash,
            depth: distance,
            attempts: 0,
        };
        self.window.discover(host, entry);
        true
    }

    /// A URL's host in the run; `None` for one too many.
    fn host(&mut self, url: &Resolved) -> Option<usize> {
        let key = host_key(url);
        if let Some(index) = self.host_index.get(&key) {
            return Some(*index);
        }
        if self.hosts.len() >= MAX_HOSTS {
            return None;
        }
        let index = self.hosts.len();
        self.hosts.push(Host {
            gate: self.shared.app.crawls.politeness().gate(&key),
            delay: Duration::from_millis(self.shared.spec.delay_ms),
            robots: Robots::Unknown,
        });
        self.host_index.insert(key, index);
        Some(index)
    }

    fn hash(&self, url: &Resolved) -> u64 {
        key_hash(&key_of(url, self.shared.rules))
    }

    fn skip(&self, reason: &str, count: u64) {
        if count > 0 {
            let mut progress = self.handle.progress.lock();
            match progress.skipped.get_mut(reason) {
                Some(known) => *known += count,
                None => {
                    progress.skipped.insert(reason.to_owned(), count);
                }
            }
        }
    }

    /// Reads on in the database when there is room in memory.
    async fn refill(&mut self) -> anyhow::Result<()> {
        let Some(from) = self.window.wants() else {
            return Ok(());
        };
        // What is not written yet can't be read, and is in order behind what is.
        let complete = *self.handle.written.borrow() >= self.sent;
        let shared = Arc::clone(&self.shared);
        let limit = u32::try_from(WINDOW / 2).unwrap_or(u32::MAX);
        let store = &shared.app.store;
        let rows = store
            .frontier_queued(shared.lease.run, from - 1, limit)
            .await?;
        let whole = rows.len() < limit as usize;
        let (now, clock) = (Instant::now(), shared.app.clock.now());
        let mut next = from;
        for row in rows {
            next = row.seq + 1;
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

    /// Follows the links of pages that turned out to be nearer to the seed.
    async fn follow_nearer(&mut self) -> anyhow::Result<()> {
        let shared = Arc::clone(&self.shared);
        for to in std::mem::take(&mut self.nearer) {
            let Some(url) = Resolved::parse(&to) else {
                continue;
            };
            let key = key_of(&url, shared.rules);
            let lease = shared.lease;
            let store = &shared.app.store;
            let Some(row) = store.previous_page(lease.project, lease.run, &key).await? else {
                continue;
            };
            let stored = unpack_links(&row.links)?;
            let (links, found) = page::links_only(&shared, &stored);
            let distance = self.seen.get(&key_hash(&key)).copied().unwrap_or(u8::MAX);
            let mut item = self.item();
            self.discover(&links, &found, u32::from(distance), &mut item.discovered);
            self.send(item).await;
        }
        Ok(())
    }

    fn wants_sitemaps(&self) -> bool {
        self.sitemaps.is_some() && !self.is_full()
    }

    /// Takes what a sitemap lists; `None` at the end of them all.
    async fn take_sitemap(&mut self, more: Option<Vec<String>>) {
        let Some(urls) = more else {
            if let Some(sitemaps) = self.sitemaps.take() {
                match sitemaps.task.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => self.failure = Some(format!("{error:#}")),
                    Err(error) => self.failure = Some(error.to_string()),
                }
            }
            self.notes.sitemaps_read = self.failure.is_none();
            self.note();
            let item = self.item();
            return self.send(item).await;
        };
        for piece in urls.chunks(SITEMAP_CHUNK) {
            let mut item = self.item();
            let scope = self.shared.scope.load_full();
            let (mut out, mut excluded, mut budget) = (0, 0, 0);
            for url in piece {
                let Some(url) = Resolved::parse(url) else {
                    continue;
                };
                match scope.judge(&url) {
                    Verdict::Out => out += 1,
                    Verdict::Excluded => excluded += 1,
                    Verdict::In => {
                        let hash = self.hash(&url);
                        if !self.seen.contains_key(&hash) {
                            let to = url.without_fragment().to_owned();
                            let admitted = self.admit(&url, to, hash, 0, &mut item.discovered);
                            budget += u64::from(!admitted);
                        }
                    }
                }
            }
            self.skip("scope", out);
            self.skip("excluded", excluded);
            self.skip("budget", budget);
            self.send(item).await;
        }
    }

    /// Looks up what the site says to AI crawlers and language models, once.
    fn look_at_site(&mut self, landed: &Resolved) {
        let Ok(url) = Url::parse(landed.as_str()) else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        self.site.get_or_insert_with(|| {
            tokio::spawn(async move {
                let pipeline = &shared.app.pipeline;
                let files = pipeline.fetcher.site_files();
                let robots = files.robots(&pipeline.fetcher, &url).await;
                shared.wait_for(url.as_str()).await;
                let llms = files.llms_txt(&pipeline.fetcher, &url).await;
                shared.wait_for(url.as_str()).await;
                let full = files.llms_full_txt(&pipeline.fetcher, &url).await;
                let policy = pipeline.ai_policy(&robots);
                let (lease, store) = (shared.lease, &shared.app.store);
                let noted = store
                    .note_site(lease, policy.as_deref(), llms.as_deref(), full.as_deref())
                    .await;
                if let Err(error) = noted {
                    tracing::warn!(%error, run.id = %lease.run, "cannot note what a site says");
                }
            })
        });
    }

    /// An empty item of this run.
    fn item(&self) -> Item {
        Item {
            run: Arc::clone(&self.handle),
            page: None,
            discovered: Vec::new(),
            changes: Vec::new(),
            error: false,
            usage: None,
            room: None,
        }
    }

    async fn send(&mut self, item: Item) {
        self.handle.progress.lock().queued = self.pending;
        self.sent += 1;
        self.committer.send(item).await;
    }

    /// Waits until everything is written, or never will be.
    async fn flush(&mut self) {
        let mut written = self.handle.written.subscribe();
        let mut fate = self.handle.fate.subscribe();
        let sent = self.sent;
        let lost = |fate: &Fate| matches!(fate, Fate::Lost | Fate::Broken(_));
        tokio::select! {
            _ = written.wait_for(|written| *written >= sent) => {}
            _ = fate.wait_for(lost) => {}
        }
    }
}

/// Fetches an entry, in turn with other nodes where there are some.
async fn fetch_in_turn(
    shared: Arc<Shared>,
    entry: Entry,
    host: usize,
    delay: Duration,
    random: u64,
) -> Outcome {
    let fetch = async {
        let app = &shared.app;
        if app.store.is_shared()
            && !delay.is_zero()
            && let Some(url) = Resolved::parse(&entry.url)
        {
            // The hosts' time, which never stands still.
            let now = Clock::system().now();
            match app.store.host_slot(&host_key(&url), now, delay).await {
                Ok(slot) => {
                    let wait = (slot - now).to_std().unwrap_or_default();
                    tokio::time::sleep(
                        wait.min(Duration::from_millis(app.config.crawl.max_wait_ms)),
                    )
                    .await;
                }
                Err(error) => tracing::warn!(%error, "cannot ask other nodes for a host's turn"),
            }
        }
        fetch::run(Arc::clone(&shared), entry.clone(), host, random).await
    };
    match AssertUnwindSafe(fetch).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => Outcome {
            host,
            end: End::Broken("a fault of ours".to_owned()),
            redirects: 0,
            chain: Vec::new(),
            entry: entry.clone(),
        },
    }
}

fn gave_up(error: &anyhow::Error) -> Ending {
    Ending {
        done: false,
        error_message: Some(format!("the engine gave up: {error:#}")),
    }
}

/// Depth as it is remembered; the deepest that is asked for is 50.
fn depth(depth: u32) -> u8 {
    u8::try_from(depth).unwrap_or(u8::MAX)
}

/// SplitMix64.
fn next_random(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
