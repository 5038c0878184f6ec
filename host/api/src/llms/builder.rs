//! llms.txt of a site, built from a crawl of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Timelike as _, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, RunId};
use orbweaver_core::key_hash::url_key;
use orbweaver_core::page::x_robots_tag;
use orbweaver_core::user_agent::PRODUCT_TOKEN;
use orbweaver_store::crawl::{Created, KeyUse, PageRange, Run, RunState};
use orbweaver_store::{Amount, Principal, StoreError};
use orbweaver_urls::KeyRules;
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout_at};

use super::text::{self, Entry};
use crate::app::App;
use orbweaver_accounts::quota::QuotaError;
use orbweaver_crawl::reuse;
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_crawl::submit::{self, Origin};

/// Runs of the same hour that are of no use, before one is made that nobody comes back to.
const MAX_BEFORE: u32 = 100;
/// How often the run is looked at.
const POLL: Duration = Duration::from_millis(200);
/// Links followed from the start page.
const DEPTH: u32 = 5;
/// Bytes kept of a page's title, and of its description.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// What to build.
#[derive(Clone, Debug)]
pub struct LlmsSpec {
    /// Where to start.
    pub url: String,
    /// Pages, at most.
    pub max_pages: u32,
    /// The site's name; none: what the start page says.
    pub site_name: Option<String>,
    /// Its summary; none: what the start page says.
    pub summary: Option<String>,
    /// How long to wait for the crawl.
    pub wait: Duration,
    /// How old a finished crawl may be to be built from again, in seconds; 0: always a new one.
    pub max_age_seconds: u64,
}

/// The file, and what it was built from.
#[derive(Clone, Debug)]
pub struct LlmsFile {
    /// Its text.
    pub text: String,
    /// The crawl.
    pub run: RunId,
    /// When the crawl ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum LlmsError {
    /// The crawl is not over yet.
    #[error("crawl {0} is not over yet; ask again when it is, and it is used")]
    Waiting(RunId),
    /// The crawl failed.
    #[error("{0}")]
    Crawl(String),
    /// The project has as many crawls as it may.
    #[error(
        "as many crawls are queued and running as the project may have at once: {cap} (setting \
         tiers.{tier}.concurrent_runs)"
    )]
    Busy {
        /// How many it may have.
        cap: u64,
        /// Its tier.
        tier: String,
    },
    /// A cap is reached.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Builds the file from a finished crawl that is young enough, one under way, or a new one.
///
/// # Errors
/// Why there is none, or none yet.
pub async fn build(
    app: &App,
    principal: &Arc<Principal>,
    spec: &LlmsSpec,
) -> Result<LlmsFile, LlmsError> {
    let deadline = Instant::now() + spec.wait;
    let run = find(app, principal, spec).await?;
    let run = wait(app, run, deadline).await?;
    if run.status == RunState::Failed {
        let why = run
            .error_message
            .unwrap_or_else(|| "the crawl failed".to_owned());
        return Err(LlmsError::Crawl(why));
    }
    let text = write(app, &run, spec).await?;
    Ok(LlmsFile {
        text,
        run: run.id,
        finished_at: run.finished_at,
    })
}

/// The crawl to build from: one that has ended, one under way, or a new one.
async fn find(app: &App, principal: &Principal, spec: &LlmsSpec) -> Result<Run, LlmsError> {
    let project = principal.project;
    let crawl = CrawlSpec {
        max_pages: spec.max_pages,
        depth: DEPTH,
        // Titles and descriptions are kept without the pages.
        store_html: false,
        ..CrawlSpec::new(&spec.url)
    }
    .with_project_proxy(principal.proxy_url.as_deref());
    let max_age = spec.max_age_seconds;
    let fits = |run: &Run, done: &CrawlSpec| is_whole(run) && *done == crawl;
    if max_age > 0
        && let Some(run) = reuse::newest(&app.crawls, project, &spec.url, max_age, &fits).await?
        && start_error(app, &run).await?.is_none()
    {
        return Ok(run);
    }
    // A caller who was told to wait comes back to the same run, also at a cap; one that is of no use leads
    // to the next.
    let first = (max_age > 0).then(|| idem_key(app, spec));
    let mut key = first.clone();
    let mut left = MAX_BEFORE;
    while let (Some(first), Some(next)) = (&first, &key) {
        let now = app.clock.now();
        let Some(KeyUse::Run(run)) = app.store.key_use(project, next, now).await? else {
            break;
        };
        if !run.status.is_over() || is_of_use(app, &run, max_age).await? {
            return Ok(*run);
        }
        left -= 1;
        key = (left > 0).then(|| format!("{first}:{}", run.id.get()));
    }
    let cap = app.accounts.quota.caps(project).await?.concurrent_runs.0;
    // A run needs a page at least; the reservation goes back at once.
    drop(
        app.accounts
            .quota
            .reserve(project, Amount::pages(1))
            .await?,
    );
    let origin = Origin {
        idem_key: key,
        ..Origin::default()
    };
    match submit::submit(&app.crawls, project, &crawl, origin, cap).await? {
        Created::New(run) | Created::Replayed(run) => Ok(*run),
        // No monitor has such a key.
        Created::CapReached | Created::Monitor(_) => Err(busy(cap, principal)),
    }
}

/// Whether a run has ended by itself, with all its pages: it did not fail, and no cap cut it.
fn is_whole(run: &Run) -> bool {
    run.status == RunState::Done && run.error_message.is_none()
}

/// Whether a file can be built from a run that has ended, and the run is young enough.
async fn is_of_use(app: &App, run: &Run, max_age: u64) -> Result<bool, LlmsError> {
    Ok(is_whole(run) && is_young(app, run, max_age) && start_error(app, run).await?.is_none())
}

/// Whether a run has ended in the last `max_age` seconds.
fn is_young(app: &App, run: &Run, max_age: u64) -> bool {
    let max_age = i64::try_from(max_age).unwrap_or(i64::MAX);
    let now = app.clock.now();
    run.finished_at
        .is_some_and(|at| (now - at).num_seconds() <= max_age)
}

fn busy(cap: Option<u64>, principal: &Principal) -> LlmsError {
    LlmsError::Busy {
        cap: cap.unwrap_or(0),
        tier: principal.tier.clone(),
    }
}

/// One crawl an hour for the same question.
fn idem_key(app: &App, spec: &LlmsSpec) -> String {
    let now = app.clock.now();
    format!(
        "llms-txt:{}:{}:{}T{:02}",
        spec.max_pages,
        submit::url_key(&spec.url),
        now.date_naive(),
        now.hour()
    )
}

async fn wait(app: &App, run: Run, deadline: Instant) -> Result<Run, LlmsError> {
    let (project, id) = (run.project, run.id);
    let mut run = Some(run);
    loop {
        match run {
            Some(run) if run.status.is_over() => return Ok(run),
            Some(_) => {}
            None => return Err(LlmsError::Crawl("the crawl was deleted".to_owned())),
        }
        if timeout_at(deadline, sleep(POLL)).await.is_err() {
            return Err(LlmsError::Waiting(id));
        }
        run = app.store.run(project, id).await?;
    }
}

/// What a crawl keeps of a page without its body.
#[derive(Default, Deserialize)]
#[serde(default)]
struct KeptFields {
    metadata: Metadata,
    signals: Signals,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Signals {
    robots_meta: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    title: Option<String>,
    description: Option<String>,
    canonical: Option<String>,
    og: Og,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Og {
    site_name: Option<String>,
}

/// The status of the page that the crawl began with, if it is an error.
async fn start_error(app: &App, run: &Run) -> Result<Option<u16>, LlmsError> {
    let first = PageRange {
        status: None,
        after: PageId(0),
        offset: 0,
        limit: 1,
    };
    let pages = app.store.run_pages(run.project, run.id, &first).await?;
    let status = pages.first().map(|page| page.status);
    Ok(status.filter(|status| *status >= 400))
}

async fn write(app: &App, run: &Run, spec: &LlmsSpec) -> Result<String, LlmsError> {
    if let Some(status) = start_error(app, run).await? {
        return Err(LlmsError::Crawl(format!(
            "{} answered with status {status}",
            spec.url
        )));
    }
    let range = PageRange {
        status: Some(200),
        after: PageId(0),
        offset: 0,
        limit: spec.max_pages,
    };
    let (mut found, mut name, mut summary) = (Vec::new(), None, None);
    let mut is_first = true;
    for item in app.store.run_pages(run.project, run.id, &range).await? {
        let Some(record) = app.store.page(run.project, item.id).await? else {
            continue;
        };
        if record.page.kind != Kind::Html {
            continue;
        }
        let kept = record
            .metadata
            .as_deref()
            .map(serde_json::from_str::<KeptFields>);
        let KeptFields { metadata, signals } = kept.and_then(Result::ok).unwrap_or_default();
        let Metadata {
            title,
            description,
            canonical,
            og,
        } = metadata;
        // The first page is where the crawl began; it names the site even if it is not to be listed.
        if std::mem::take(&mut is_first) {
            summary.clone_from(&description);
            let site = og.site_name.filter(|site| !site.trim().is_empty());
            name = site.or_else(|| title.clone());
        }
        if is_noindex(&record.page.headers, &signals.robots_meta) {
            continue;
        }
        let key = url_key(&record.page.final_url, KeyRules::default());
        let same = canonical.map(|url| url_key(&url, KeyRules::default()));
        let entry = Entry {
            url: record.page.final_url,
            title: title.map(cut),
            description: description.map(cut),
        };
        found.push((key, same, entry));
    }
    // A page that calls itself a copy of another one is not listed beside it. Of two that name each
    // other, neither is the other's copy.
    let is_own = |key: &String, same: &Option<String>| same.as_ref().is_none_or(|same| same == key);
    let own = found.iter().filter(|(key, same, _)| is_own(key, same));
    let keys: HashSet<String> = own.map(|(key, ..)| key.clone()).collect();
    let is_copy = |key: &String, same: &Option<String>| {
        let of = same.as_ref().filter(|same| *same != key);
        of.is_some_and(|same| keys.contains(same))
    };
    let listed = found
        .into_iter()
        .filter(|(key, same, _)| !is_copy(key, same));
    let mut entries: Vec<Entry> = listed.map(|(.., entry)| entry).collect();
    // Pages come as they were fetched, which differs from run to run.
    entries.sort_by_cached_key(|entry: &Entry| (segments(&entry.url), entry.url.clone()));
    let name = spec
        .site_name
        .clone()
        .or(name)
        .unwrap_or_else(|| host(&spec.url));
    let summary = spec.summary.clone().or(summary);
    Ok(text::build(&name, summary.as_deref(), &entries))
}

/// Whether a page says, in its HTML or a header, that no index is to list it. `headers` is a JSON
/// array of `[name, value]`.
fn is_noindex(headers: &str, robots_meta: &[String]) -> bool {
    let headers: Vec<(String, String)> = serde_json::from_str(headers).unwrap_or_default();
    let tags = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("x-robots-tag"))
        .map(|(_, value)| value.as_str());
    let mut directives = x_robots_tag(tags, PRODUCT_TOKEN);
    for list in robots_meta {
        directives.add(list);
    }
    directives.noindex
}

/// A page's own words, which may be as long as the page.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text.shrink_to_fit();
    text
}

fn host(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    parsed
        .as_ref()
        .and_then(url::Url::host_str)
        .unwrap_or(url)
        .to_owned()
}

/// Parts of a URL's path: pages near the root come first.
fn segments(url: &str) -> usize {
    let parsed = url::Url::parse(url).ok();
    let path = parsed.as_ref().map_or("", url::Url::path);
    path.split('/').filter(|part| !part.is_empty()).count()
}
