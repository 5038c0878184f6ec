//! One run: decides what is fetched next, takes what fetches found, and ends it.

mod discover;
mod outcome;
mod pace;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use futures::FutureExt as _;
use orbweaver_fetch::{CookieJar, RobotsAnswer};
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Ending, FrontierChange, LeasedRun};
use orbweaver_urls::{Base, KeyRules, Resolved};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use pace::Host;

use super::commit::{Committer, Fate, Item, RunHandle};
use super::fetch::{Outcome, Shared};
use super::frontier::{Seen, Window};
use super::limiter::Limiter;
use super::scope::Scope;
use super::spec::CrawlSpec;
use super::traps::Traps;
use crate::accounts::quota::Reservation;
use crate::app::App;
use crate::webhooks::end_run;

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
    random: fastrand::Rng,
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
            Err(error) => gave_up(&error),
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
            seed: Base::from_resolved(seed.clone()).context("the seed is no URL")?,
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
            random: fastrand::Rng::with_seed(random()),
        };
        engine.resume().await?;
        engine.begin(&seed).await;
        Ok(engine)
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
                return gave_up(&error);
            }
            if let Err(error) = self.reserve().await {
                return gave_up(&error);
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
                    return gave_up(&error);
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

    fn is_over(&self) -> bool {
        self.fetches.is_empty()
            && (self.is_full()
                || (self.window.is_empty() && self.sitemaps.is_none() && self.robots.is_empty()))
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

/// Ends a run that can't go on; hands it back where the database is only away.
fn gave_up(error: &anyhow::Error) -> Option<Ending> {
    let away = error
        .downcast_ref::<StoreError>()
        .is_some_and(StoreError::is_transient);
    if away {
        tracing::warn!(%error, "a crawl is handed back: the database is away");
        return None;
    }
    Some(Ending {
        done: false,
        error_message: Some(format!("the engine gave up: {error:#}")),
    })
}

/// Depth as it is remembered; the deepest that is asked for is 50.
fn depth(depth: u32) -> u8 {
    u8::try_from(depth).unwrap_or(u8::MAX)
}
