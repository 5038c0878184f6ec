//! Whole answers of stored pages, kept as the bytes that go out.
//!
//! A kept answer is only sent while nothing that it is made of has changed: the project's
//! youngest page of the URL, the plugins, what the site says of itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::FutureExt as _;
use moka::ops::compute::Op;
use moka::sync::Cache;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_engine::PluginRef;
use orbweaver_store::CloudMode;
use url::Url;

use super::site::{self, Site};
use super::{Content, Pipeline, ScanSpec};

/// Bounds the memory of an entry besides its bytes.
const OVERHEAD: usize = 1_024;
/// Pages whose youngest row is known.
const PAGES: u64 = 100_000;
/// With a database that other nodes write to, one of them may have a younger page: for how
/// long that may go unnoticed.
const SHARED: Duration = Duration::from_secs(1);

/// Answers by request.
#[derive(Clone)]
pub(super) struct Answers {
    kept: Cache<Request, Arc<Kept>>,
    /// The youngest page of the project for a URL, as far as this process knows.
    youngest: Cache<PageKey, PageId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Request {
    project: ProjectId,
    url: String,
    user_agent: Option<String>,
    cloud_mode: CloudMode,
    content: Content,
}

/// Project, normalised URL, user agent as asked for, mode: what a cached page is found by.
pub(super) type PageKey = (ProjectId, String, String, CloudMode);

/// An answer and what it was made of.
pub(super) struct Kept {
    pub(super) json: Bytes,
    pub(super) page_key: PageKey,
    pub(super) page: PageId,
    pub(super) fetched_at: DateTime<Utc>,
    pub(super) final_url: Url,
    pub(super) site: Site,
    pub(super) plugins: Vec<(String, Option<PluginRef>)>,
    pub(super) at: Instant,
}

impl Request {
    fn of(project: ProjectId, spec: &ScanSpec) -> Self {
        Self {
            project,
            url: spec.url.clone(),
            user_agent: spec.user_agent.clone(),
            cloud_mode: spec.cloud_mode,
            content: spec.content.clone(),
        }
    }
}

impl Answers {
    /// With so many bytes of answers.
    pub(super) fn new(bytes: u64) -> Self {
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, kept: &Arc<Kept>| {
                u32::try_from(kept.json.len() + OVERHEAD).unwrap_or(u32::MAX)
            })
            .build();
        Self {
            kept,
            youngest: Cache::new(PAGES),
        }
    }

    /// Notes that a project has this page of a URL. Ids ascend, so the higher one is younger.
    pub(super) fn note_page(&self, key: PageKey, page: PageId) {
        self.youngest
            .entry(key)
            .and_compute_with(|known| match known {
                Some(known) if known.value() >= &page => Op::Nop,
                _ => Op::Put(page),
            });
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, project: ProjectId, spec: &ScanSpec, kept: Kept) {
        self.kept.insert(Request::of(project, spec), Arc::new(kept));
    }
}

impl Pipeline {
    /// The kept answer and where its page came from, if it still holds and its page is no
    /// older than `since`. `shared`:
    /// other nodes write to the database, too.
    pub(super) fn kept_answer(
        &self,
        project: ProjectId,
        spec: &ScanSpec,
        since: DateTime<Utc>,
        shared: bool,
    ) -> Option<(Bytes, CloudMode)> {
        if spec.content.screenshot {
            // A picture is taken anew each time.
            return None;
        }
        let kept = self.answers.kept.get(&Request::of(project, spec))?;
        let holds = kept.fetched_at >= since
            && (!shared || kept.at.elapsed() < SHARED)
            && self.answers.youngest.get(&kept.page_key) == Some(kept.page)
            && kept
                .plugins
                .iter()
                .all(|(role, plugin)| self.engine.role(role) == *plugin);
        // Only what is known already: a site that has to be asked again takes the long way.
        let site = holds.then(|| site::look_up(self, &kept.final_url).now_or_never())??;
        site.is_same(&kept.site)
            .then(|| (kept.json.clone(), kept.page_key.3))
    }
}
