//! The state of one run's task.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use orbweaver_accounts::quota::Reservation;
use orbweaver_accounts::random;
use orbweaver_core::webhook::{Event, target};
use orbweaver_engine::RunRef;
use orbweaver_fetch::{CookieJar, RobotsRead};
use orbweaver_pipeline::blocking_of;
use orbweaver_store::Topic;
use orbweaver_store::crawl::{FailedUrl, FrontierChange, LeasedPart, LeasedRun};
use orbweaver_urls::{Base, KeyRules, Resolved};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::again;
use super::helping::Helping;
use super::host::Host;
use super::lending::{Lending, may_lend};
use super::skipped_links::SkippedLinks;
use crate::commit::{CommitItem, Committer};
use crate::concurrency::Limiter;
use crate::context::Crawls;
use crate::entry::Outcome;
use crate::frontier::{Seen, Window};
use crate::handle::{Fate, RunHandle};
use crate::hooks::Hooks;
use crate::hooks::report::Noted;
use crate::patterns::PathPatterns;
use crate::politeness::{Reach, Turns};
use crate::scope::Scope;
use crate::seed::Listed;
use crate::shared::Shared;
use crate::spec::CrawlSpec;
use crate::traps::Traps;

/// What the engine writes down to go on with a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Notes {
    /// A URL of the site that the seed redirects to.
    pub(super) site: Option<String>,
    /// All sitemaps are read.
    pub(super) sitemaps_read: bool,
    /// How many URLs that sitemaps list were left out, by the name of the reason. Who reads them again
    /// counts these again.
    pub(super) skipped: BTreeMap<String, u64>,
    /// Of some page's links not all were taken, because enough others waited.
    pub(super) was_cut: bool,
    /// The longest Crawl-delay that the run keeps, in milliseconds, if it is long.
    pub(super) crawl_delay_ms: Option<u64>,
}

/// The longest Crawl-delay that a run keeps, in milliseconds, by what the engine wrote down of it; `None`
/// where none is long.
pub fn long_crawl_delay(engine_state: &str) -> Option<u64> {
    let notes: Notes = serde_json::from_str(engine_state).ok()?;
    notes.crawl_delay_ms
}

/// URLs admitted beyond `max_pages`, in place of those that fail.
const SPARE: u64 = 1_024;

/// URLs admitted beyond these, at least, if a hook gives them a priority.
const PREFERRED: u64 = 8_192;

/// For what is beyond the clock's range: a hundred years.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

pub(super) type Done = (Outcome, Option<OwnedSemaphorePermit>);

/// Works on one run: decides what is fetched next and takes what fetches found.
pub(super) struct Crawler {
    pub(super) shared: Arc<Shared>,
    pub(super) handle: Arc<RunHandle>,
    pub(super) committer: Committer,
    pub(super) notes: Notes,
    /// Whether they have changed since the last item.
    pub(super) notes_changed: bool,
    pub(super) hosts: Vec<Host>,
    pub(super) host_index: HashMap<String, usize>,
    pub(super) seen: Seen,
    /// Links that were counted as skipped.
    pub(super) skipped_links: SkippedLinks,
    pub(super) window: Window,
    pub(super) traps: Traps,
    pub(super) limiter: Limiter,
    pub(super) fetches: JoinSet<Done>,
    pub(super) robots: JoinSet<(usize, RobotsRead)>,
    pub(super) sitemaps: Option<Sitemaps>,
    pub(super) site: Option<JoinHandle<()>>,
    /// The site was asked what it says to AI crawlers and language models.
    pub(super) site_asked: bool,
    /// Entries left out since the last item.
    pub(super) left_out: Vec<FrontierChange>,
    /// Entries given up since the last item without a request of their own.
    pub(super) given_up: Vec<FailedUrl>,
    /// Pages that turned out to be nearer to the seed than when they were fetched.
    pub(super) nearer: again::Pages,
    /// Pages of whose links not all were taken, because enough others waited.
    pub(super) partly: again::Pages,
    /// Steps of matching robots.txt for the links that are taken now, or the hosts that get a turn.
    pub(super) robots_steps: u64,
    /// URLs that redirect to one that another fetch has: the keys of both.
    pub(super) merged: HashMap<u64, u64>,
    pub(super) next_seq: i64,
    /// URLs admitted and neither done, failed nor left out.
    pub(super) pending: u64,
    /// Page rows, those that are still to be written included, and pages that hooks dropped.
    pub(super) rows: u64,
    /// Items handed to the committer.
    pub(super) sent: u64,
    /// Pages set aside for the run.
    pub(super) reserved: Option<Reservation>,
    /// The cap leaves no more than the reserved pages, so these are used up first.
    pub(super) cut: bool,
    /// When to ask for pages again, because others have set aside what the cap leaves.
    pub(super) ask_again: Option<Instant>,
    /// Until when to do so.
    pub(super) patience: Option<Instant>,
    /// The cap that was reached.
    pub(super) capped: Option<String>,
    /// When the run ends with what it has, and why; none once that is so.
    pub(super) end: Option<(Instant, String)>,
    /// Hashes of URLs of sitemaps that could not be read, or only in part.
    pub(super) failed_sitemaps: HashSet<u64>,
    /// Number of URLs that are seen, but not in the frontier, because robots.txt disallows them.
    pub(super) disallowed: usize,
    /// Why there is no seed.
    pub(super) failure: Option<String>,
    /// Why a hook ends the run as failed.
    pub(super) broken: Option<String>,
    pub(super) noted: Noted,
    /// What is lent to other nodes.
    pub(super) lending: Lending,
    /// The part that this is the worker of; `None` for the run's worker.
    pub(super) helping: Option<Helping>,
    pub(super) random: fastrand::Rng,
}

/// The task that reads the run's sitemaps; dropped, it ends.
pub(super) struct Sitemaps {
    pub(super) found: mpsc::Receiver<Listed>,
    /// Whether the run takes more.
    pub(super) wanted: watch::Sender<bool>,
    pub(super) task: JoinHandle<anyhow::Result<()>>,
}

impl Drop for Sitemaps {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// When a run is too old to go on, and how that is said.
async fn end(crawls: &Crawls, leased: &LeasedRun) -> (Instant, String) {
    let general = crawls.config.max_age_seconds;
    // A suspended project's run ends by its quota.
    let tier = crawls.quota.caps(leased.lease.project).await.ok();
    let seconds = tier
        .and_then(|tier| tier.max_run_seconds)
        .map_or(general, |own| own.min(general));
    let now = crawls.clock.now();
    let age = now - leased.run.started_at.unwrap_or(now);
    let left = Duration::from_secs(seconds).saturating_sub(age.to_std().unwrap_or_default());
    let why = format!("the run ended after {seconds} seconds, the most that a run may take");
    let at = Instant::now().checked_add(left);
    (at.unwrap_or_else(|| Instant::now() + FOREVER), why)
}

impl Crawler {
    pub(super) async fn new(
        crawls: Crawls,
        leased: &LeasedRun,
        handle: Arc<RunHandle>,
        committer: Committer,
    ) -> anyhow::Result<Self> {
        let mut engine = Self::with_spec(crawls, leased, handle, committer).await?;
        let shared = Arc::clone(&engine.shared);
        let (spec, store) = (&shared.spec, &shared.crawls.store);
        // Before the first page.
        if let Some(url) = &spec.webhook_url
            && spec.webhook_events.contains(&Event::Page)
        {
            store
                .open_page_feed(leased.lease, url, &target(url))
                .await?;
        }
        let allowed = may_lend(&shared.crawls, spec);
        engine.lending = Lending::new(allowed, store.notices(Topic::Parts));
        engine.end = Some(end(&shared.crawls, leased).await);
        engine.resume(&leased.run).await?;
        let seed = Resolved::parse(&spec.url).context("the seed is not a URL")?;
        engine.begin(&seed).await;
        Ok(engine)
    }

    /// Works on a part of a run: fetches what is lent to it.
    pub(super) async fn of_part(
        crawls: Crawls,
        leased: &LeasedPart,
        handle: Arc<RunHandle>,
        committer: Committer,
    ) -> anyhow::Result<Self> {
        let whole = LeasedRun {
            lease: handle.lease,
            run: leased.run.clone(),
        };
        let mut engine = Self::with_spec(crawls, &whole, handle, committer).await?;
        engine.rows = 0;
        engine.helping = Some(Helping::new(leased.lease));
        let notices = engine.shared.crawls.store.notices(Topic::Parts);
        engine.lending = Lending::new(false, notices);
        if let Some(concurrency) = leased.concurrency {
            engine.limiter.fix(concurrency);
        }
        Ok(engine)
    }

    /// With the run's request, and nothing to fetch.
    async fn with_spec(
        crawls: Crawls,
        leased: &LeasedRun,
        handle: Arc<RunHandle>,
        committer: Committer,
    ) -> anyhow::Result<Self> {
        let config = crawls.config.clone();
        let spec: CrawlSpec = serde_json::from_str(&leased.run.spec).context("the run's spec")?;
        let notes: Notes = serde_json::from_str(&leased.run.engine_state).unwrap_or_default();
        let seed = Resolved::parse(&spec.url).context("the seed is not a URL")?;
        let (include, exclude) = (spec.include_paths.clone(), spec.exclude_paths.clone());
        let work = PathPatterns::work(&include, &exclude);
        let compile = move || PathPatterns::compile(&include, &exclude);
        // Rules may have come since a monitor was stored: the run then ends with what its client would be
        // told, see `gave_up`.
        let patterns = blocking_of(work, compile).await??;
        let mut scope = Scope::new(&spec, &seed, patterns);
        let site = notes.site.as_deref().and_then(Resolved::parse);
        if let Some(wider) = site.and_then(|site| scope.with_site(&site)) {
            scope = wider;
        }
        let mut extractors = crawls.pipeline.extras().to_vec();
        for name in &spec.extractors {
            if !extractors.contains(name) {
                extractors.push(name.clone());
            }
        }
        let notices = crawls.store.notices(Topic::Parts);
        let fetcher = crawls.pipeline.fetcher.of_project(leased.run.project);
        let shared = Shared {
            lease: leased.lease,
            seed: Base::from_resolved(seed).context("the seed is not a URL")?,
            scope: ArcSwap::from_pointee(scope),
            rules: KeyRules {
                drop_tracking: config.drop_tracking,
            },
            turns: Turns::new(Reach::of(&spec), Duration::from_millis(spec.delay_ms)),
            jar: CookieJar::new(),
            proxy: spec.proxy().context("the project's proxy")?,
            claims: Default::default(),
            previous: leased.run.previous,
            extractors,
            rendering: Default::default(),
            hooks: Hooks::new(&spec.hooks),
            engine: crawls
                .pipeline
                .engine
                .of_run(leased.run.project, RunRef::Crawl(leased.run.id.get())),
            spec,
            crawls,
            committer: committer.clone(),
            fetcher,
        };
        Ok(Self {
            limiter: Limiter::new(shared.spec.concurrency, config.max_concurrency),
            traps: Traps::new(config.template_budget),
            shared: Arc::new(shared),
            handle,
            committer,
            notes,
            notes_changed: false,
            hosts: Vec::new(),
            host_index: HashMap::new(),
            seen: Seen::default(),
            skipped_links: SkippedLinks::default(),
            window: Window::default(),
            fetches: JoinSet::new(),
            robots: JoinSet::new(),
            sitemaps: None,
            site: None,
            site_asked: false,
            left_out: Vec::new(),
            given_up: Vec::new(),
            nearer: again::Pages::default(),
            partly: again::Pages::default(),
            robots_steps: 0,
            merged: HashMap::new(),
            next_seq: 0,
            pending: 0,
            rows: leased.run.page_count + leased.run.progress.dropped,
            sent: 0,
            reserved: None,
            cut: false,
            ask_again: None,
            patience: None,
            capped: None,
            end: None,
            failed_sitemaps: HashSet::new(),
            disallowed: 0,
            failure: None,
            broken: None,
            noted: Noted::default(),
            lending: Lending::new(false, notices),
            helping: None,
            random: fastrand::Rng::with_seed(random::seed()),
        })
    }

    /// Whether no URL more can be used: as many wait as pages are wanted, and spare ones in
    /// place of those that fail.
    pub(super) fn has_enough(&self) -> bool {
        self.has_enough_of(0, 0)
    }

    /// As [`has_enough`](Self::has_enough), for URLs of a priority: those that a hook prefers come
    /// in place of others that wait. `beyond`: how many more may wait.
    pub(super) fn has_enough_of(&self, priority: i32, beyond: u64) -> bool {
        let max = u64::from(self.shared.spec.max_pages);
        let preferred = if priority > 0 { max.max(PREFERRED) } else { 0 };
        self.rows + self.pending >= max + SPARE + preferred + beyond
    }

    /// Ends the run, as at a cap, once it is too old. When that is.
    pub(super) fn age(&mut self) -> Option<Instant> {
        let (at, why) = self.end.take()?;
        if Instant::now() >= at {
            self.capped.get_or_insert(why);
            return None;
        }
        self.end = Some((at, why));
        Some(at)
    }

    /// Whether no page more is wanted, or may be had.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= u64::from(self.shared.spec.max_pages) || self.capped.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.fetches.is_empty()
            && (self.is_full()
                || (self.window.is_empty()
                    && self.lending.len() == 0
                    && self.sitemaps.is_none()
                    && self.robots.is_empty()))
    }

    /// Requests under way, as the run's `concurrency` counts them: robots.txt, llms.txt and
    /// sitemaps, too. Where the run has none of its own, those do not keep pages waiting.
    pub(super) fn requests(&self) -> usize {
        let beside = match self.shared.spec.concurrency {
            Some(_) => {
                self.robots.len()
                    + usize::from(self.site.is_some())
                    + usize::from(self.wants_sitemaps())
            }
            None => 0,
        };
        self.fetches.len() + beside
    }

    /// An empty item of this run.
    pub(super) fn item(&self) -> CommitItem {
        CommitItem::of(Arc::clone(&self.handle))
    }

    /// Hands an item over, with the counts and the notes as they are now.
    pub(super) async fn send(&mut self, mut item: CommitItem) {
        item.progress = {
            let mut progress = self.handle.progress.lock();
            progress.queued = self.pending;
            progress.clone()
        };
        if std::mem::take(&mut self.notes_changed) {
            item.engine_state = serde_json::to_string(&self.notes).ok();
        }
        self.sent += 1;
        self.committer.send(item).await;
    }

    /// Waits until everything is written, or never will be.
    pub(super) async fn flush(&mut self) {
        let mut written = self.handle.written.subscribe();
        let mut fate = self.handle.fate.subscribe();
        let sent = self.sent;
        let lost = |fate: &Fate| matches!(fate, Fate::Lost | Fate::Broken(_));
        if *written.borrow() < sent {
            self.committer.hurry();
        }
        tokio::select! {
            _ = written.wait_for(|written| *written >= sent) => {}
            _ = fate.wait_for(lost) => {}
        }
    }
}
