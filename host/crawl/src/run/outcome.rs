//! Outcomes of a fetch: a page, another try, or a failure.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_fetch::{Kind, RobotsRead};
use orbweaver_store::Amount;
use orbweaver_store::crawl::{FailedUrl, FrontierChange, NewNote, SkipReason, is_unreliable};
use orbweaver_urls::Resolved;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use url::Url;

use super::report::Skipped;
use super::state::Crawler;
use crate::commit::CommitItem;
use crate::entry::{End, Entry, Fetched, Outcome, host_key};
use crate::fetch;
use crate::follow;
use crate::hooks::report::PluginReport;
use crate::hooks::verdict::Fate;
use crate::politeness::Reach;
use crate::spec::SeedKind;

/// What a URL fails with whose redirects lead back to it, each by a fetch of its own.
pub(super) const IN_A_CIRCLE: &str = "the redirects go in a circle";
/// Redirects that are followed to see whether they do.
const MAX_CIRCLE: usize = 1_000;

impl Crawler {
    /// Notes that a URL redirects to one that another fetch has or had; `true`, and not noted, if
    /// that one leads back. Otherwise neither would have a page or an error.
    pub(super) fn merges_in_circle(&mut self, hash: u64, target: u64) -> bool {
        let next = |at: u64| {
            let merged = self.merged.get(&at).copied();
            merged.or_else(|| self.shared.claimer(at).filter(|claimer| *claimer != at))
        };
        let mut way = std::iter::successors(Some(target), |at| next(*at)).take(MAX_CIRCLE);
        let is_circle = way.any(|at| at == hash);
        if !is_circle {
            self.merged.insert(hash, target);
        }
        is_circle
    }

    /// Takes what a fetch brought.
    pub(super) async fn take(&mut self, outcome: Outcome, room: Option<OwnedSemaphorePermit>) {
        let Outcome {
            entry,
            host,
            end,
            redirects,
            chain,
            report,
        } = outcome;
        let now = Instant::now();
        self.came_back(host);
        let hosts = self.window.waiting_hosts();
        if redirects > 0
            && let Some(known) = self.hosts.get(host)
        {
            known.turn.charge(now, redirects);
        }
        let mut item = self.item();
        item.room = room;
        item.notes = self.take_report(report);
        match end {
            End::Page(fetched) => {
                let status = fetched.row.page.status;
                if matches!(status, 429 | 503) {
                    self.limiter.overloaded(hosts, now.into_std());
                } else {
                    self.limiter.answered(fetched.latency, now.into_std());
                }
                let wait = fetched.retry_after.map(|wait| wait.min(self.max_wait()));
                if let Some(wait) = wait {
                    self.close_host(host, wait).await;
                }
                let hooks_wait = fetched
                    .hooked
                    .as_ref()
                    .and_then(|hooked| match hooked.fate {
                        Fate::Retry(wait) => Some(wait),
                        Fate::Kept | Fate::Dropped => None,
                    });
                let is_busy = matches!(status, 429 | 502 | 503 | 504);
                if (is_busy || hooks_wait.is_some()) && self.may_retry(&entry) {
                    self.shared.unclaim(&chain);
                    let wait = wait.into_iter().chain(hooks_wait).max();
                    item.changes = vec![self.again(host, entry, wait.unwrap_or_default(), now)];
                } else {
                    self.accept(entry, *fetched, chain, &mut item).await;
                }
            }
            End::Merged(target)
                if self.helping.is_none() && self.merges_in_circle(entry.hash, target) =>
            {
                self.shared.unclaim(&chain);
                let kind = Kind::BadRedirect.as_str();
                let failed = self.give_up(&entry, kind, IN_A_CIRCLE.to_owned());
                self.fail(&entry, failed, &mut item);
            }
            End::Merged(target) => {
                self.pending = self.pending.saturating_sub(1);
                if self.helping.is_some() {
                    self.report_merged(&entry, target, chain);
                } else {
                    self.skip(SkipReason::Duplicate, 1);
                    // The page may not be written yet.
                    item.changes = vec![FrontierChange::Skipped {
                        seq: entry.seq,
                        redirect_to: Some(target),
                    }];
                }
            }
            End::Failed(error) if fetch::is_disallowed(&error) => {
                self.shared.unclaim(&chain);
                self.pending = self.pending.saturating_sub(1);
                self.skip(SkipReason::Robots, 1);
                if self.shared.is_seed(&entry) {
                    self.failure = Some(error.message);
                }
                if self.helping.is_some() {
                    self.report_skipped(&entry, Skipped::Robots, None);
                } else {
                    item.changes = vec![FrontierChange::Skipped {
                        seq: entry.seq,
                        redirect_to: None,
                    }];
                }
            }
            End::Failed(error) => {
                self.shared.unclaim(&chain);
                if fetch::is_overload(&error) {
                    self.limiter.overloaded(hosts, now.into_std());
                }
                if error.retryable && self.may_retry(&entry) {
                    item.changes = vec![self.again(host, entry, Duration::ZERO, now)];
                } else {
                    let failed = self.give_up(&entry, error.kind.as_str(), error.message);
                    self.fail(&entry, failed, &mut item);
                }
            }
            End::Broken(message) => {
                self.shared.unclaim(&chain);
                let failed = self.give_up(&entry, Kind::Internal.as_str(), message);
                self.fail(&entry, failed, &mut item);
            }
        }
        item.reports = self.take_reports();
        self.send(item).await;
    }

    /// Counts an entry that gave no answer: what is listed of it.
    pub(super) fn give_up(&mut self, entry: &Entry, kind: &str, message: String) -> FailedUrl {
        tracing::debug!(run.id = %self.shared.lease.run, url = %entry.url, "gave up: {message}");
        self.pending = self.pending.saturating_sub(1);
        self.handle.progress.lock().failed += 1;
        if self.shared.is_seed(entry) {
            self.failure = Some(message.clone());
        }
        FailedUrl {
            seq: entry.seq,
            url: entry.url.clone(),
            key_hash: entry.hash,
            kind: kind.to_owned(),
            message,
            attempts: entry.attempts + 1,
            failed_at: self.shared.crawls.clock.now(),
        }
    }

    fn fail(&mut self, entry: &Entry, failed: FailedUrl, item: &mut CommitItem) {
        if self.helping.is_some() {
            self.report_failed(entry, failed);
        } else {
            item.changes = vec![FrontierChange::Failed { seq: entry.seq }];
            item.errors = vec![failed];
        }
    }

    fn may_retry(&self, entry: &Entry) -> bool {
        entry.attempts < self.shared.crawls.config.retries
    }

    pub(super) fn max_wait(&self) -> Duration {
        self.shared.crawls.config.max_wait_ms.as_duration()
    }

    /// How long to wait after so many failures: twice as long every time, and at least as long as
    /// was asked for.
    pub(super) fn backoff(&mut self, attempts: u32, asked: Duration) -> Duration {
        let base = self.shared.crawls.config.retry_base_ms.as_duration();
        // Up to a quarter more, so that what failed together does not come back together.
        let jitter = base.mul_f64(self.random.f64() / 4.0);
        let wait = base.saturating_mul(1 << attempts.min(10)) + jitter;
        wait.max(asked).min(self.max_wait())
    }

    /// Puts an entry off.
    fn again(
        &mut self,
        host: usize,
        mut entry: Entry,
        asked: Duration,
        now: Instant,
    ) -> FrontierChange {
        let wait = self.backoff(entry.attempts, asked);
        entry.attempts += 1;
        let change = FrontierChange::Again {
            seq: entry.seq,
            attempts: entry.attempts,
            next_at: self.shared.crawls.clock.now()
                + TimeDelta::from_std(wait).unwrap_or(TimeDelta::zero()),
        };
        self.window.postpone(host, entry, now + wait);
        change
    }

    async fn close_host(&mut self, host: usize, wait: Duration) {
        if let Some(known) = self.hosts.get(host) {
            known.turn.close_until(Instant::now() + wait);
        }
        let crawls = &self.shared.crawls;
        if self.shared.turns.reach() == Reach::All
            && crawls.store.is_shared()
            && let Some((name, _)) = self.host_index.iter().find(|(_, index)| **index == host)
            && let Ok(wait) = TimeDelta::from_std(wait)
            && let Err(error) = crawls
                .store
                .close_host(name, crawls.clock.that_goes().now() + wait)
                .await
        {
            tracing::warn!(%error, "cannot store a Retry-After for other nodes");
        }
    }

    /// Takes what plugins did to a URL: its notes, as far as they are new.
    pub(super) fn take_report(&mut self, report: PluginReport) -> Vec<NewNote> {
        if let Some(helping) = &mut self.helping {
            helping.plugins.merge(report);
            return Vec::new();
        }
        if report.failures > 0 {
            self.handle.progress.lock().plugin_errors += report.failures;
        }
        self.broken = self.broken.take().or(report.broken);
        self.noted.admit(report.notes)
    }

    /// A page row, and what it leads to.
    async fn accept(
        &mut self,
        entry: Entry,
        mut fetched: Fetched,
        chain: Vec<u64>,
        item: &mut CommitItem,
    ) {
        self.pending = self.pending.saturating_sub(1);
        if self.shared.is_seed(&entry) {
            self.widen(&mut fetched).await;
        }
        self.skip(SkipReason::Scope, fetched.left_out.scope);
        self.skip(SkipReason::Excluded, fetched.left_out.excluded);
        self.skip(SkipReason::Budget, fetched.left_out.budget);
        if self.helping.is_some() {
            self.report_page(&entry, &fetched, chain);
        } else if self.follows_links() {
            self.discover(
                &fetched.row.page.final_url,
                &fetched.links,
                &fetched.found,
                fetched.hooked.as_deref(),
                entry.depth,
                &mut item.discovered,
            );
        }
        let is_dropped = fetched
            .hooked
            .as_ref()
            .is_some_and(|hooked| hooked.fate == Fate::Dropped);
        self.count_page(is_dropped);
        let token = format!("run:{}:{}", self.shared.lease.run, entry.seq);
        item.usage = match fetched.cloud.take() {
            Some(mut cloud) => Some(cloud.usage(token, "crawl", Amount::cloud(1), 0)),
            None => {
                let page = self.shared.pages_of(1);
                let reserved = self.reserved.as_mut();
                reserved.map(|reserved| reserved.usage(token, "crawl", page, 0))
            }
        };
        if self.helping.is_none() {
            let (seq, redirect_to) = (entry.seq, fetched.redirect_to);
            let is_told = !is_dropped && !self.shared.is_seed(&entry);
            let is_down = !is_told && is_unreliable(fetched.row.page.status);
            item.changes = vec![match is_down {
                true => FrontierChange::Unavailable { seq, redirect_to },
                false => FrontierChange::Done { seq, redirect_to },
            }];
        }
        item.page = (!is_dropped).then_some(fetched.row);
    }

    /// Counts a page that is stored, or was dropped by a hook.
    pub(super) fn count_page(&mut self, is_dropped: bool) {
        self.rows += 1;
        let mut progress = self.handle.progress.lock();
        progress.fetched += u64::from(!is_dropped);
        progress.dropped += u64::from(is_dropped);
    }

    /// Whether the run follows the links of its pages.
    pub(super) fn follows_links(&self) -> bool {
        self.shared.spec.seed_kind == SeedKind::Url && !self.shared.spec.list
    }

    /// The seed's answer says which host is in scope besides its own.
    async fn widen(&mut self, fetched: &mut Fetched) {
        let Some(landed) = Resolved::parse(&fetched.row.page.final_url) else {
            return;
        };
        self.look_at_site(&landed);
        if self.widen_to(&landed)
            && let Err(error) = follow::judge_again(&self.shared, fetched).await
        {
            tracing::error!(%error, run.id = %self.shared.lease.run, "cannot judge links again");
        }
    }

    /// Takes the site that the seed redirects to into the scope, once; whether that is news.
    pub(super) fn widen_to(&mut self, landed: &Resolved) -> bool {
        let wider = self.shared.scope.load().with_site(landed);
        let Some(wider) = wider.filter(|_| self.notes.site.is_none()) else {
            return false;
        };
        self.shared.scope.store(Arc::new(wider));
        self.notes.site = Some(landed.as_str().to_owned());
        self.note();
        true
    }

    /// Has the notes written with the next item.
    pub(super) fn note(&mut self) {
        self.notes_changed = true;
    }

    /// Looks up what the site says to AI crawlers and language models, once.
    pub(super) fn look_at_site(&mut self, landed: &Resolved) {
        let Ok(url) = Url::parse(landed.as_str()) else {
            return;
        };
        if std::mem::replace(&mut self.site_asked, true) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        self.site = Some(tokio::spawn(async move {
            let pipeline = &shared.crawls.pipeline;
            let (fetcher, files) = (&shared.fetcher, shared.fetcher.site_files());
            let personal = shared.personal(url.as_str());
            let RobotsRead {
                answer: robots,
                is_fresh,
            } = shared.robots(&url, false).await;
            // Otherwise who asks for the pages counts the request.
            if is_fresh
                && shared.spec.respect_robots
                && let Some(url) = Resolved::parse(url.as_str())
            {
                let turn = shared.turn(&host_key(&url));
                turn.charge(Instant::now(), 1);
            }
            // What is known needs no turn.
            if !files.has_llms_txt_for(fetcher, &url, &personal) {
                shared.wait_for(url.as_str()).await;
            }
            let llms = files.llms_txt_for(fetcher, &url, &personal).await;
            if !files.has_llms_full_txt_for(fetcher, &url, &personal) {
                shared.wait_for(url.as_str()).await;
            }
            let full = files.llms_full_txt_for(fetcher, &url, &personal).await;
            let policy = pipeline.ai_policy(&robots).await;
            let policy = policy.as_deref().map(RawValue::get);
            let (lease, store) = (shared.lease, &shared.crawls.store);
            let noted = store
                .note_site(lease, policy, llms.as_deref(), full.as_deref())
                .await;
            if let Err(error) = noted {
                tracing::warn!(%error, run.id = %lease.run, "cannot store the robots.txt policy and llms.txt of a site");
            }
        }));
    }
}
