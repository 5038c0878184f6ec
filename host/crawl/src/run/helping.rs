//! The worker of a part of a run: fetches what the run's worker lends, and reports.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use orbweaver_store::crawl::{FailedUrl, LeasedPart, NewReport, PartLease};
use orbweaver_urls::Resolved;
use tokio::time::{Instant, sleep_until};

use super::is_away;
use super::report::{Report, ReportedEnd, ReportedPage, Skipped, Told};
use super::state::Crawler;
use crate::commit::Committer;
use crate::context::Crawls;
use crate::entry::{Entry, Fetched};
use crate::handle::{Fate, RunHandle};
use crate::hooks::report::PluginReport;

/// URLs read at once.
const CHUNK: u32 = 512;
/// How often new URLs are looked for if no notice comes, and at most if many come.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the worker of a part has besides.
pub(super) struct Helping {
    lease: PartLease,
    /// The place of the last URL read.
    read: i64,
    told: Told,
    /// What plugins did since the last report.
    pub(super) plugins: PluginReport,
    /// Reports that are not sent yet.
    reports: Vec<NewReport>,
}

impl Helping {
    pub(super) fn new(lease: PartLease) -> Self {
        Self {
            lease,
            read: 0,
            told: Told::default(),
            plugins: PluginReport::default(),
            reports: Vec::new(),
        }
    }
}

/// Works on a part of a run until it is closed, lost, or the process stops. A part that fails for another
/// reason than that the database is away is given up: its next worker would fail, too, and so on for ever. The
/// run's worker fetches what was lent to it, and ends the run if it cannot go on either.
pub(crate) async fn help(
    crawls: Crawls,
    leased: LeasedPart,
    handle: Arc<RunHandle>,
    committer: Committer,
) {
    let lease = leased.lease;
    let worked = async {
        let mut worker =
            Crawler::of_part(crawls.clone(), &leased, Arc::clone(&handle), committer).await?;
        worker.help().await
    };
    let has_failed = match AssertUnwindSafe(worked).catch_unwind().await {
        Ok(Ok(())) => false,
        Ok(Err(error)) => {
            tracing::warn!(%error, run.id = %lease.run, part = lease.part, "a part of a crawl is handed back");
            !is_away(&error)
        }
        Err(_) => {
            tracing::error!(run.id = %lease.run, part = lease.part, "a part of a crawl panicked");
            true
        }
    };
    let fate = handle.fate.borrow().clone();
    let store = &crawls.store;
    let left = match fate {
        Fate::Lost => return,
        Fate::Broken(_) => store.give_up_part(lease).await,
        Fate::Going | Fate::Stop if has_failed => store.give_up_part(lease).await,
        Fate::Going | Fate::Stop => store.release_part(lease).await,
    };
    if let Err(error) = left {
        // Its lease runs out.
        tracing::warn!(%error, run.id = %lease.run, "cannot hand a part of a crawl back");
    }
}

impl Crawler {
    async fn help(&mut self) -> anyhow::Result<()> {
        let mut fate = self.handle.fate.subscribe();
        let mut next_look = Instant::now();
        loop {
            if *fate.borrow() != Fate::Going {
                self.wind_up().await;
                return Ok(());
            }
            if self.capped.is_some() && self.fetches.is_empty() {
                // The run's worker decides how many pages the project may use.
                self.flush().await;
                return self.give_up_part().await;
            }
            let concurrency = self.handle.concurrency.load(Ordering::Acquire);
            if concurrency > 0 {
                self.limiter.fix(concurrency);
            }
            if Instant::now() >= next_look {
                next_look = Instant::now() + POLL_INTERVAL;
                if !self.read_lent().await? {
                    self.handle.doom(Fate::Lost);
                    continue;
                }
            }
            self.reserve().await?;
            let wake = self.launch();
            let wake = wake.map_or(next_look, |wake| wake.min(next_look));
            self.send_left_out().await;
            tokio::select! {
                Some(done) = self.fetches.join_next(), if !self.fetches.is_empty() => {
                    if let Ok((outcome, room)) = done {
                        self.take(outcome, room).await;
                    }
                }
                Some(Ok((host, answer))) = self.robots.join_next(), if !self.robots.is_empty() => {
                    self.take_robots(host, answer);
                }
                () = sleep_until(wake) => {}
                () = self.lending.told() => {
                    next_look = next_look.min(Instant::now() + MIN_POLL_INTERVAL);
                }
                _ = fate.changed() => {}
            }
        }
    }

    async fn give_up_part(&self) -> anyhow::Result<()> {
        if let Some(helping) = &self.helping {
            let store = &self.shared.crawls.store;
            store.give_up_part(helping.lease).await?;
        }
        Ok(())
    }

    /// Reads what is lent since the last look; `false` if the part is closed or lost.
    async fn read_lent(&mut self) -> anyhow::Result<bool> {
        loop {
            let Some(helping) = &self.helping else {
                return Ok(false);
            };
            let store = &self.shared.crawls.store;
            if !store.holds_part(helping.lease).await? {
                return Ok(false);
            }
            let lent = store.lent_urls(helping.lease, helping.read, CHUNK).await?;
            let is_last = lent.len() < CHUNK as usize;
            let (now, clock) = (Instant::now(), self.shared.crawls.clock.now());
            for lent in lent {
                if let Some(helping) = &mut self.helping {
                    helping.read = lent.number;
                }
                let row = lent.url;
                let mut entry = Entry {
                    seq: row.seq,
                    hash: 0,
                    url: row.url,
                    depth: row.depth,
                    attempts: row.attempts,
                    priority: row.priority,
                };
                self.pending += 1;
                let url = Resolved::parse(&entry.url);
                let placed = url.and_then(|url| Some((self.host(&url)?, self.hash(&url))));
                let Some((host, hash)) = placed else {
                    // The run's worker does the same; it waits for a report of every URL.
                    self.report_skipped(&entry, Skipped::Duplicate, None);
                    continue;
                };
                entry.hash = hash;
                match (row.next_at - clock).to_std() {
                    Ok(wait) if !wait.is_zero() => {
                        let at = now + wait.min(self.max_wait());
                        self.window.postpone(host, entry, at);
                    }
                    _ => self.window.push(host, entry),
                }
            }
            if is_last {
                return Ok(true);
            }
        }
    }

    /// Reports what became of a URL.
    pub(super) fn report(&mut self, entry: &Entry, end: ReportedEnd) {
        let report = self.new_report(entry, end);
        self.put_report(entry, report);
    }

    /// Reports a URL that redirects to a page that another fetch has, over the URLs of `chain`.
    pub(super) fn report_merged(&mut self, entry: &Entry, target: u64, chain: Vec<u64>) {
        let report = self.new_report(entry, ReportedEnd::Merged(target));
        let report = report.map(|report| Report { chain, ..report });
        self.put_report(entry, report);
    }

    /// Reports a URL that is left out; `claimer` is the key of a URL that redirects to it.
    pub(super) fn report_skipped(&mut self, entry: &Entry, why: Skipped, claimer: Option<u64>) {
        let report = self.new_report(entry, ReportedEnd::Skipped(why));
        let report = report.map(|report| Report { claimer, ..report });
        self.put_report(entry, report);
    }

    /// Reports a URL that gave no answer.
    pub(super) fn report_failed(&mut self, entry: &Entry, failed: FailedUrl) {
        let end = ReportedEnd::Failed {
            kind: failed.kind,
            message: failed.message,
            attempts: failed.attempts,
            at: failed.failed_at,
        };
        self.report(entry, end);
    }

    /// Reports a page, with what it leads to.
    pub(super) fn report_page(&mut self, entry: &Entry, fetched: &Fetched, chain: Vec<u64>) {
        let follows = self.follows_links();
        let Some(helping) = &mut self.helping else {
            return;
        };
        let page = ReportedPage::new(fetched, entry, follows, &mut helping.told);
        // The run's worker does the same with every URL that it admits.
        for hash in page.hashes() {
            self.shared.hooks.know(hash);
        }
        let report = self.new_report(entry, ReportedEnd::Page(page));
        let report = report.map(|report| Report { chain, ..report });
        self.put_report(entry, report);
    }

    /// A report with what plugins did since the last one.
    fn new_report(&mut self, entry: &Entry, end: ReportedEnd) -> Option<Report> {
        let helping = self.helping.as_mut()?;
        let plugins = std::mem::take(&mut helping.plugins);
        Some(Report::new(entry, plugins, end))
    }

    fn put_report(&mut self, entry: &Entry, report: Option<Report>) {
        let Some((helping, report)) = self.helping.as_mut().zip(report) else {
            return;
        };
        match serde_json::to_string(&report) {
            Ok(report) => helping.reports.push(NewReport {
                seq: entry.seq,
                report,
            }),
            // Its fields are numbers, strings and lists of these.
            Err(error) => tracing::error!(%error, "cannot write a report"),
        }
    }

    /// The reports that are not sent yet.
    pub(super) fn take_reports(&mut self) -> Vec<NewReport> {
        let helping = self.helping.as_mut();
        helping.map_or_else(Vec::new, |helping| std::mem::take(&mut helping.reports))
    }
}
