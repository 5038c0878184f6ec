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
    let (store, since) = (&crawls.store, since(crawls, seconds));
    let seed = url_key(&asked.url);
    let mut offset = 0;
    while offset < MAX_LOOKED_AT {
        let runs = store
            .recent_done_runs(project, &seed, since, offset, CHUNK)
            .await?;
        offset += CHUNK;
        let is_last = runs.len() < CHUNK as usize;
        if let Some(run) = runs.into_iter().find(|run| answers(run, asked)) {
            let before = match key {
                Some(key) => {
                    let now = crawls.clock.now();
                    store.bind_key(project, key, &run, now).await?
                }
                None => None,
            };
            let recent = || Reused::Recent(Box::new(run));
            return Ok(Some(before.map_or_else(recent, Reused::Before)));
        }
        if is_last {
            break;
        }
    }
    Ok(None)
}

/// The time so many seconds ago.
pub(crate) fn since(crawls: &Crawls, seconds: u64) -> DateTime<Utc> {
    i64::try_from(seconds)
        .ok()
        .and_then(TimeDelta::try_seconds)
        .and_then(|age| crawls.clock.now().checked_sub_signed(age))
        .unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// Whether a done run of the URL answers a request: the URL was taken for the same, a page, a sitemap or
/// the first of a list. Budgets and other fields may differ: the interface promises a recent run of the URL.
fn answers(run: &Run, asked: &CrawlSpec) -> bool {
    serde_json::from_str::<CrawlSpec>(&run.spec)
        .is_ok_and(|done| done.seed_kind == asked.seed_kind && done.list == asked.list)
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::RunId;
    use orbweaver_store::crawl::{Progress, RunState};

    use super::*;
    use crate::spec::SeedKind;

    const SEED: &str = "https://e.org/";

    fn run(spec: &CrawlSpec) -> Run {
        Run {
            id: RunId(1),
            project: ProjectId(1),
            monitor: None,
            previous: None,
            url: spec.url.clone(),
            url_key: url_key(&spec.url),
            status: RunState::Done,
            spec: serde_json::to_string(spec).unwrap(),
            seed_is_page: true,
            page_count: 1,
            error_count: 0,
            enqueued_at: DateTime::UNIX_EPOCH,
            started_at: None,
            finished_at: None,
            error_message: None,
            proxy_url: None,
            ai_bot_policy: None,
            llms_txt: None,
            llms_full_txt: None,
            webhook_status: None,
            webhook_attempts: 0,
            webhook_last_error: None,
            progress: Progress::default(),
        }
    }

    #[test]
    fn a_run_answers_requests_that_take_its_url_for_the_same() {
        let asked = CrawlSpec::new(SEED);
        let done = |change: fn(&mut CrawlSpec)| {
            let mut spec = CrawlSpec::new(SEED);
            change(&mut spec);
            answers(&run(&spec), &asked)
        };
        assert!(done(|_| {}));
        assert!(done(|spec| spec.max_pages = 1));
        assert!(done(|spec| spec.include_paths = vec!["^/a".to_owned()]));
        assert!(!done(|spec| spec.seed_kind = SeedKind::Sitemap));
        assert!(!done(|spec| spec.list = true));
    }
}
