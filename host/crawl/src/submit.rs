//! Queues a run for a checked crawl.

use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use orbweaver_core::key_hash;
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Created, NewRun};
use orbweaver_urls::KeyRules;

use super::spec::{CrawlSpec, SeedKind};
use crate::context::Crawls;
use crate::list::UrlList;

/// Who requests a run, and why.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The monitor that fires it.
    pub monitor: Option<MonitorId>,
    /// The monitor's previous run.
    pub previous: Option<RunId>,
    /// The caller's Idempotency-Key.
    pub idem_key: Option<String>,
    /// Beyond the cap the run waits for a place.
    pub may_wait: bool,
}

/// The key of runs of a list, which is no URL.
const LIST_KEY: &str = "list";

/// Runs of one project that may wait for a place.
const MAX_WAITING: u32 = 1_000;

/// Queues a run, unless the project has `cap` queued and running ones and the run may not
/// wait, or the key stands for a run already. The project's proxy is to be in the spec
/// ([`CrawlSpec::with_project_proxy`]).
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn submit(
    crawls: &Crawls,
    project: ProjectId,
    spec: &CrawlSpec,
    origin: Origin,
    cap: Option<u64>,
) -> Result<Created, StoreError> {
    submit_list(crawls, project, spec, origin, cap, &UrlList::default()).await
}

/// As [`submit`], for a run of a list of URLs.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn submit_list(
    crawls: &Crawls,
    project: ProjectId,
    spec: &CrawlSpec,
    origin: Origin,
    cap: Option<u64>,
    list: &UrlList,
) -> Result<Created, StoreError> {
    let new = NewRun {
        project,
        url: spec.url.clone(),
        // A list is no crawl of its first URL, which is looked up by its key.
        url_key: match spec.list {
            true => LIST_KEY.to_owned(),
            false => url_key(&spec.url),
        },
        spec: serde_json::to_string(spec).map_err(|e| StoreError::Damaged(e.to_string()))?,
        seed_is_page: spec.seed_kind == SeedKind::Url && !spec.list,
        proxy_shown: shown_proxy(spec),
        monitor: origin.monitor,
        previous: origin.previous,
        idem_key: origin.idem_key,
        enqueued_at: crawls.clock.now(),
        has_webhook: spec.webhook_url.is_some(),
    };
    let cap = cap.map(|cap| u32::try_from(cap).unwrap_or(u32::MAX));
    let most_held = if origin.may_wait { MAX_WAITING } else { 0 };
    let created = crawls
        .store
        .queue_list(&new, cap, most_held, &list.urls, &list.refused)
        .await?;
    if matches!(created, Created::New(_)) {
        crawls.live.wake();
    }
    Ok(created)
}

/// The key by which runs of a seed are found: the page key of its URL.
pub fn url_key(url: &str) -> String {
    key_hash::url_key(url, KeyRules::default())
}

/// The proxy in displayable form: without credentials.
pub fn shown_proxy(spec: &CrawlSpec) -> Option<String> {
    match spec.proxy() {
        Ok(proxy) => proxy.map(|proxy| proxy.to_string()),
        Err(_) => Some("***".to_owned()),
    }
}
