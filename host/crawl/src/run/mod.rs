//! One run: decides what is fetched next, takes what fetches found, and ends it.

mod again;
mod discover;
mod helping;
mod host;
mod lending;
mod listed;
mod outcome;
mod pace;
mod part_reports;
mod report;
mod resume;
mod robots;
mod skipped_links;
mod state;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use orbweaver_pipeline::rules::InvalidField;
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Ending, FrontierChange, LeasedRun};
use tokio::time::{Instant, sleep_until};

use crate::commit::{CommitItem, Committer};
use crate::context::Crawls;
use crate::handle::{Fate, RunHandle};
use crate::webhooks::end_run;
pub(crate) use helping::help;
use state::Crawler;
pub use state::long_crawl_delay;

/// How long requests under way may go on when the process stops.
const GRACE: Duration = Duration::from_secs(3);

/// Works on a run until it ends, is handed back or lost.
pub(crate) async fn run(
    crawls: Crawls,
    leased: LeasedRun,
    handle: Arc<RunHandle>,
    committer: Committer,
) {
    let lease = leased.lease;
    let mut fate = handle.fate.subscribe();
    let worked = async {
        match Crawler::new(crawls.clone(), &leased, Arc::clone(&handle), committer).await {
            Ok(mut engine) => engine.work().await,
            Err(error) => gave_up(&error),
        }
    };
    let ending = match AssertUnwindSafe(worked).catch_unwind().await {
        Ok(ending) => ending,
        Err(_) => Some(Ending {
            done: false,
            error_message: Some("internal error: the crawl task panicked".to_owned()),
        }),
    };
    let fate = fate.borrow_and_update().clone();
    let (ended, what) = match (fate, ending) {
        (Fate::Lost, _) => {
            return tracing::info!(run.id = %lease.run, "lost the lease of a crawl");
        }
        (Fate::Broken(why), _) => {
            let ending = Ending {
                done: false,
                error_message: Some(format!("internal error: {why}")),
            };
            (end_run(&crawls, &leased.run, lease, &ending).await, "end")
        }
        (_, Some(ending)) => (end_run(&crawls, &leased.run, lease, &ending).await, "end"),
        (_, None) => (crawls.store.release_lease(lease).await, "hand back"),
    };
    if let Err(error) = ended {
        // Its lease runs out, and the next worker does it.
        tracing::error!(%error, run.id = %lease.run, "cannot {what} a crawl");
    }
}
impl Crawler {
    /// Until the run ends; `None` when it is to be handed back or dropped.
    async fn work(&mut self) -> Option<Ending> {
        let mut fate = self.handle.fate.subscribe();
        let mut written = self.handle.written.subscribe();
        loop {
            if *fate.borrow() != Fate::Going {
                return self.wind_up().await;
            }
            if let Some(why) = self.broken.take() {
                return self.broken_off(why).await;
            }
            if let Err(error) = self.refill().await {
                return gave_up(&error);
            }
            if let Err(error) = self.tend().await {
                return gave_up(&error);
            }
            if let Err(error) = self.reserve().await {
                return gave_up(&error);
            }
            let end = self.age();
            let wake = self.launch();
            let others = end.into_iter().chain(self.lending.wake());
            let wake = wake.into_iter().chain(others).chain(self.ask_again).min();
            self.send_left_out().await;
            if self.is_over() {
                if !self.has_more_links() || self.is_full() || self.has_enough() {
                    break;
                }
                self.flush().await;
                if let Err(error) = self.follow_again().await {
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
                _ = async { self.site.as_mut()?.await.ok() }, if self.site.is_some() => {
                    self.site = None;
                }
                more = async { self.sitemaps.as_mut()?.found.recv().await }, if self.wants_sitemaps() => {
                    self.take_sitemap(more).await;
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
                _ = written.changed(), if self.window.wants().is_some() => {}
                () = self.lending.told(), if self.lending.has_parts() => {}
                _ = fate.changed() => {}
            }
        }
        if let Err(error) = self.recall().await {
            return gave_up(&error);
        }
        self.skip_unread();
        // With the number of URLs that wait, which is skipped now.
        let item = self.item();
        self.send(item).await;
        self.flush().await;
        if *self.handle.fate.borrow() != Fate::Going {
            return None;
        }
        if let Some(site) = self.site.take() {
            // A run that is too old does not wait for more.
            if self.end.is_none() {
                site.abort();
            }
            let _ = site.await;
        }
        let failure = self.failure.take().filter(|_| self.rows == 0);
        Some(Ending {
            done: self.rows > 0 || (failure.is_none() && self.capped.is_none()),
            error_message: failure.or_else(|| self.capped.take()),
        })
    }

    /// Hands over what was lent, left out or given up without a request of its own.
    async fn send_left_out(&mut self) {
        let lent = std::mem::take(&mut self.lending.changes);
        let reports = self.take_reports();
        if lent.is_empty()
            && reports.is_empty()
            && self.left_out.is_empty()
            && self.given_up.is_empty()
        {
            return;
        }
        let left_out = std::mem::take(&mut self.left_out).into_iter();
        let errors = std::mem::take(&mut self.given_up);
        let changes = left_out
            .chain(
                errors
                    .iter()
                    .map(|failed| FrontierChange::Failed { seq: failed.seq }),
            )
            .chain(lent)
            .collect();
        let item = self.item();
        let item = CommitItem {
            changes,
            errors,
            reports,
            ..item
        };
        self.send(item).await;
    }

    /// Ends the run as failed, with what it has, because a hook failed that must not.
    async fn broken_off(&mut self, why: String) -> Option<Ending> {
        self.fetches.abort_all();
        self.sitemaps = None;
        if let Some(site) = self.site.take() {
            site.abort();
        }
        self.flush().await;
        if *self.handle.fate.borrow() != Fate::Going {
            return None;
        }
        Some(Ending {
            done: false,
            error_message: Some(why),
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
        self.sitemaps = None;
        if let Some(site) = &self.site {
            site.abort();
        }
        None
    }
}

/// Whether the database is only away.
fn is_away(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<StoreError>();
    error.is_some_and(StoreError::is_transient)
}

/// Ends a run that can't go on, with the field's message where its request breaks a rule; hands it back
/// where the database is only away.
fn gave_up(error: &anyhow::Error) -> Option<Ending> {
    if is_away(error) {
        tracing::warn!(%error, "database unavailable; releasing the crawl's lease");
        return None;
    }
    let message = match error.downcast_ref::<InvalidField>() {
        Some(field) => field.to_string(),
        None => format!("internal error: {error:#}"),
    };
    Some(Ending {
        done: false,
        error_message: Some(message),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_request_that_breaks_a_rule_is_no_internal_error() {
        let told = |error: anyhow::Error| gave_up(&error).and_then(|end| end.error_message);
        let field = InvalidField::new("include_paths[0]", "is too large");
        assert_eq!(
            told(field.into()),
            Some("include_paths[0]: is too large".to_owned())
        );
        assert_eq!(told(anyhow!("x")), Some("internal error: x".to_owned()));
    }
}
