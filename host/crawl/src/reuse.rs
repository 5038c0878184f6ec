//! A recent run in place of a new one (`max_age_seconds`).

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::ProjectId;
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{KeyUse, Run, SkipReason};

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

/// Whether a done run has what a request asks for: it fetched and stored the same way, and no
/// budget smaller than the request's has cut it.
fn answers(run: &Run, asked: &CrawlSpec) -> bool {
    let Ok(done) = serde_json::from_str::<CrawlSpec>(&run.spec) else {
        return false;
    };
    let progress = &run.progress;
    let is_whole = progress.queued == 0 && progress.skipped_for(SkipReason::Budget) == 0;
    let has_pages = is_whole || done.max_pages >= asked.max_pages;
    let has_depth = progress.skipped_for(SkipReason::Depth) == 0 || done.depth >= asked.depth;
    run.error_message.is_none()
        && has_pages
        && has_depth
        && (done.store_html || !asked.store_html)
        && content(&done) == content(asked)
}

/// A crawl's request as far as it decides what is fetched and what is stored of it, without the
/// budgets: its pace and whom it tells do not matter.
fn content(spec: &CrawlSpec) -> CrawlSpec {
    CrawlSpec {
        seed_kind: spec.seed_kind,
        subdomains: spec.subdomains,
        respect_robots: spec.respect_robots,
        headers: spec.headers.clone(),
        cookies: spec.cookies.clone(),
        exclude_paths: spec.exclude_paths.clone(),
        include_paths: spec.include_paths.clone(),
        user_agent: spec.user_agent.clone(),
        proxy_url: spec.proxy_url.clone(),
        proxy_pool: spec.proxy_pool,
        proxy_country: spec.proxy_country.clone(),
        extractors: spec.extractors.clone(),
        extractor_options: spec.extractor_options.clone(),
        respect_nofollow: spec.respect_nofollow,
        render: spec.render,
        wait_for: spec.wait_for.clone(),
        actions: spec.actions.clone(),
        session: spec.session.clone(),
        extract: spec.extract.clone(),
        hooks: spec.hooks.clone(),
        ..CrawlSpec::new(String::new())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use orbweaver_core::ids::RunId;
    use orbweaver_store::crawl::{Progress, RunState};

    use super::*;
    use crate::spec::SeedKind;

    const SEED: &str = "https://e.org/";

    fn run(spec: &CrawlSpec, skipped: &[(SkipReason, u64)]) -> Run {
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
            progress: Progress {
                skipped: skipped.iter().copied().collect::<BTreeMap<_, _>>(),
                ..Progress::default()
            },
        }
    }

    #[test]
    fn a_run_answers_requests_for_the_same_content() {
        let asked = CrawlSpec::new(SEED);
        let done = |change: fn(&mut CrawlSpec)| {
            let mut spec = CrawlSpec::new(SEED);
            change(&mut spec);
            answers(&run(&spec, &[]), &asked)
        };
        assert!(done(|_| {}));
        // Neither its pace nor whom it tells matters.
        assert!(done(|spec| spec.delay_ms = 0));
        assert!(done(|spec| spec.concurrency = Some(3)));
        assert!(done(|spec| spec.webhook_url = Some(SEED.to_owned())));
        assert!(!done(|spec| spec.seed_kind = SeedKind::Sitemap));
        assert!(!done(|spec| spec.respect_robots = false));
        assert!(!done(|spec| spec.cookies = Some("a=b".to_owned())));
        assert!(!done(|spec| spec.include_paths = vec!["^/a".to_owned()]));
        assert!(!done(|spec| spec.store_html = false));
        let without_html = CrawlSpec {
            store_html: false,
            ..asked.clone()
        };
        assert!(answers(&run(&asked, &[]), &without_html));
    }

    #[test]
    fn a_run_that_a_smaller_budget_has_cut_answers_none_for_more() {
        let of = |max_pages, depth| CrawlSpec {
            max_pages,
            depth,
            ..CrawlSpec::new(SEED)
        };
        let (small, large) = (of(5, 1), of(50, 3));
        // It was complete within its budgets.
        assert!(answers(&run(&small, &[]), &large));
        for cut in [SkipReason::Budget, SkipReason::Depth] {
            let run = |spec| run(spec, &[(cut, 1)]);
            assert!(!answers(&run(&small), &large), "{cut:?}");
            assert!(answers(&run(&small), &small), "{cut:?}");
            assert!(answers(&run(&large), &small), "{cut:?}");
        }
        let capped = Run {
            error_message: Some("the daily cap".to_owned()),
            ..run(&large, &[])
        };
        assert!(!answers(&capped, &large));
        let mut waiting = run(&small, &[]);
        waiting.progress.queued = 7;
        assert!(!answers(&waiting, &large));
    }
}
