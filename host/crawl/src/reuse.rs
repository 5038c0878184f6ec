//! A recent run in place of a new one (`max_age_seconds`).

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::ProjectId;
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{KeyUse, Run};

use crate::context::Crawls;
use crate::spec::CrawlSpec;
use crate::submit::url_key;

/// Runs read at a time.
const CHUNK: u32 = 10;
/// Maximum number of runs of one seed that are looked at, the newest first.
const MAX_LOOKED_AT: u32 = 100;

/// A run in place of a new one.
#[derive(Clone, Debug)]
pub enum Reused {
    /// A recent one that answers the request.
    Recent(Box<Run>),
    /// What the request's Idempotency-Key stands for already.
    Before(KeyUse),
}

/// The newest done run of the project that answers a request for `asked`, no older than `seconds`.
/// From then on, an Idempotency-Key stands for it.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn recent(
    crawls: &Crawls,
    project: ProjectId,
    asked: &CrawlSpec,
    seconds: u64,
    key: Option<&str>,
) -> Result<Option<Reused>, StoreError> {
    let is_answer = |_: &Run, done: &CrawlSpec| answers(done, asked);
    let Some(run) = newest(crawls, project, &asked.url, seconds, &is_answer).await? else {
        return Ok(None);
    };
    let before = match key {
        Some(key) => {
            let now = crawls.clock.now();
            crawls.store.bind_key(project, key, &run, now).await?
        }
        None => None,
    };
    let recent = || Reused::Recent(Box::new(run));
    Ok(Some(before.map_or_else(recent, Reused::Before)))
}

/// The newest done run of the project for this seed that is no older than `seconds` and fits.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn newest(
    crawls: &Crawls,
    project: ProjectId,
    url: &str,
    seconds: u64,
    fits: &(dyn Fn(&Run, &CrawlSpec) -> bool + Sync),
) -> Result<Option<Run>, StoreError> {
    let (seed, since) = (url_key(url), since(crawls, seconds));
    for chunk in 0..MAX_LOOKED_AT / CHUNK {
        let runs = crawls
            .store
            .recent_done_runs(project, &seed, since, chunk * CHUNK, CHUNK)
            .await?;
        let is_last = runs.len() < CHUNK as usize;
        let found = runs.into_iter().find(|run| {
            let done = serde_json::from_str::<CrawlSpec>(&run.spec);
            done.is_ok_and(|done| fits(run, &done))
        });
        if found.is_some() || is_last {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The time so many seconds ago.
fn since(crawls: &Crawls, seconds: u64) -> DateTime<Utc> {
    i64::try_from(seconds)
        .ok()
        .and_then(TimeDelta::try_seconds)
        .and_then(|age| crawls.clock.now().checked_sub_signed(age))
        .unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// Whether a done run of the URL answers a request: the URL was taken for the same, a page or a sitemap,
/// and so was a page that refreshes: for itself, or for the one that it leads to.
/// Budgets and other fields may differ: the interface promises a recent run of the URL.
fn answers(done: &CrawlSpec, asked: &CrawlSpec) -> bool {
    done.seed_kind == asked.seed_kind && done.follow_refresh == asked.follow_refresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SeedKind;

    #[test]
    fn a_run_answers_requests_that_take_its_url_for_the_same() {
        let asked = CrawlSpec::new("https://e.org/");
        let done = |change: fn(&mut CrawlSpec)| {
            let mut spec = asked.clone();
            change(&mut spec);
            answers(&spec, &asked)
        };
        assert!(done(|_| {}));
        assert!(done(|spec| spec.max_pages = 1));
        assert!(done(|spec| spec.include_paths = vec!["^/a".to_owned()]));
        assert!(!done(|spec| spec.seed_kind = SeedKind::Sitemap));
        assert!(!done(|spec| spec.follow_refresh = true));
    }
}
