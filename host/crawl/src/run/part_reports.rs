//! Reads what the workers of a run's parts have reported.

use orbweaver_fetch::Kind;
use orbweaver_store::crawl::{FailedUrl, FrontierChange, Lease, SkipReason, StoredReport};
use tokio::time::Instant;

use super::again;
use super::discover::depth;
use super::outcome::IN_A_CIRCLE;
use super::report::{Report, ReportedEnd};
use super::state::Crawler;

/// Reports read at once.
const REPORTS: u32 = 64;

impl Crawler {
    /// Reads what the parts have reported.
    pub(super) async fn read_reports(&mut self) -> anyhow::Result<()> {
        for number in self.lending.numbers() {
            while let Some(after) = self.lending.read_to(number) {
                let Lease { project, run, .. } = self.shared.lease;
                let store = &self.shared.crawls.store;
                let reports = store
                    .run_reports(project, run, Some(number), after, REPORTS)
                    .await?;
                let is_last = reports.len() < REPORTS as usize;
                for report in reports {
                    self.lending.has_read(number, report.id);
                    self.apply_report(report).await;
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes up the reports that an earlier worker has not read, and ends its parts.
    pub(super) async fn resume_parts(&mut self) -> anyhow::Result<()> {
        let Lease { project, run, .. } = self.shared.lease;
        let mut after = 0;
        loop {
            let store = &self.shared.crawls.store;
            let reports = store
                .run_reports(project, run, None, after, REPORTS)
                .await?;
            let is_last = reports.len() < REPORTS as usize;
            for report in reports {
                after = report.id;
                self.apply_report(report).await;
            }
            if is_last {
                break;
            }
        }
        // URLs that wait are read from the database next.
        self.flush().await;
        Ok(())
    }

    /// Takes what became of a lent URL.
    async fn apply_report(&mut self, stored: StoredReport) {
        let lent = self.lending.returned(stored.seq);
        if let Some((host, _)) = &lent {
            if let Some(known) = self.hosts.get(*host) {
                known.turn.charge(Instant::now(), 1);
            }
            self.came_back(*host);
        }
        let mut item = self.item();
        item.read = vec![stored.seq];
        let seq = stored.seq;
        let report: Report = match serde_json::from_str(&stored.report) {
            Ok(report) => report,
            Err(error) => {
                tracing::error!(%error, run.id = %self.shared.lease.run, "cannot read a report");
                if stored.stored {
                    // The page counts; what it leads to is not known.
                    self.pending = self.pending.saturating_sub(1);
                    item.changes = vec![FrontierChange::Done {
                        seq,
                        redirect_to: None,
                    }];
                    self.count_page(false);
                } else if let Some((host, entry)) = lent {
                    self.shared.unclaim(&[entry.hash]);
                    self.window.push(host, entry);
                }
                return self.send(item).await;
            }
        };
        self.pending = self.pending.saturating_sub(1);
        item.notes = self.take_report(report.plugins.into());
        for key in &report.chain {
            self.shared.claim(*key, report.hash);
        }
        let end = match report.end {
            ReportedEnd::Merged(target) if self.merges_in_circle(report.hash, target) => {
                let own = |key: &u64| self.shared.claimer(*key) == Some(report.hash);
                let claimed: Vec<u64> = report.chain.iter().copied().filter(own).collect();
                self.shared.unclaim(&claimed);
                ReportedEnd::Failed {
                    kind: Kind::BadRedirect.as_str().to_owned(),
                    message: IN_A_CIRCLE.to_owned(),
                    attempts: 1,
                    at: self.shared.crawls.clock.now(),
                }
            }
            end => end,
        };
        match end {
            ReportedEnd::Page(mut page) if stored.stored || page.dropped => {
                let (links, found, hooked) = page.take_links();
                self.skip(SkipReason::Scope, page.out_of_scope);
                self.skip(SkipReason::Excluded, page.excluded);
                self.skip(SkipReason::Budget, page.unjudged);
                if self.follows_links() {
                    let discovered = &mut item.discovered;
                    let at = page.landed.as_deref().unwrap_or(&report.url);
                    let distance = report.depth;
                    self.discover(at, &links, &found, Some(&hooked), distance, discovered);
                    if let Some(url) = page.links_of {
                        self.nearer.put(again::Page {
                            url,
                            distance: depth(distance),
                            is_taken: false,
                        });
                    }
                }
                self.count_page(page.dropped);
                let redirect_to = page.redirect_to;
                item.changes = vec![match page.dropped && page.is_down {
                    true => FrontierChange::Unavailable { seq, redirect_to },
                    false => FrontierChange::Done { seq, redirect_to },
                }];
            }
            // Another node stored the page that it redirects to.
            ReportedEnd::Page(page) => {
                item.changes = vec![FrontierChange::Done {
                    seq,
                    redirect_to: page.redirect_to,
                }];
            }
            // The page may not be written yet.
            ReportedEnd::Merged(target) => {
                self.skip(SkipReason::Duplicate, 1);
                item.changes = vec![FrontierChange::Skipped {
                    seq,
                    redirect_to: Some(target),
                }];
            }
            ReportedEnd::Skipped(why) => {
                self.skip(why.reason(), 1);
                item.changes = vec![FrontierChange::Skipped {
                    seq,
                    redirect_to: report.claimer,
                }];
            }
            ReportedEnd::Failed {
                kind,
                message,
                attempts,
                at,
            } => {
                self.handle.progress.lock().failed += 1;
                item.changes = vec![FrontierChange::Failed { seq }];
                item.errors = vec![FailedUrl {
                    seq,
                    url: report.url,
                    key_hash: report.hash,
                    kind,
                    message,
                    attempts,
                    failed_at: at,
                }];
            }
        }
        self.send(item).await;
    }
}
