//! Whole answers of stored pages, kept as the bytes that go out.
//!
//! A kept answer is only sent while nothing that it is made of has changed: the project's
//! youngest page of the URL, the plugins, what the site says of itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use moka::ops::compute::Op;
use moka::sync::Cache;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_engine::PluginRef;
use orbweaver_store::CloudMode;
use url::Url;

use crate::site::Site;
use crate::spec::{Content, ScanSpec};

/// Bounds the memory of an entry besides its bytes.
const OVERHEAD: usize = 1_024;
/// Pages whose youngest row is known.
const PAGES: u64 = 100_000;
/// With a database that other nodes write to, one of them may have a younger page: for how
/// long that may go unnoticed.
pub(crate) const SHARED: Duration = Duration::from_secs(1);

/// Answers by request.
#[derive(Clone)]
pub(crate) struct Answers {
    kept: Cache<AnswerKey, Arc<KeptAnswer>>,
    /// The youngest page of the project for a URL, as far as this process knows.
    youngest: Cache<PageKey, PageId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnswerKey {
    project: ProjectId,
    url: String,
    user_agent: Option<String>,
    cloud_mode: CloudMode,
    content: Content,
}

/// Project, normalised URL, user agent as asked for, mode: what a cached page is found by.
pub(crate) type PageKey = (ProjectId, String, String, CloudMode);

/// An answer and what it was made of.
pub(crate) struct KeptAnswer {
    pub(crate) json: Bytes,
    pub(crate) page_key: PageKey,
    pub(crate) page: PageId,
    pub(crate) fetched_at: DateTime<Utc>,
    pub(crate) final_url: Url,
    pub(crate) site: Site,
    pub(crate) plugins: Vec<(String, Option<PluginRef>)>,
    pub(crate) at: Instant,
}

impl AnswerKey {
    fn new(project: ProjectId, spec: &ScanSpec) -> Self {
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
    pub(crate) fn new(bytes: u64) -> Self {
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, kept: &Arc<KeptAnswer>| {
                u32::try_from(kept.json.len() + OVERHEAD).unwrap_or(u32::MAX)
            })
            .build();
        Self {
            kept,
            youngest: Cache::new(PAGES),
        }
    }

    /// Notes that a project has this page of a URL. Ids ascend, so the higher one is younger.
    pub(crate) fn note_page(&self, key: PageKey, page: PageId) {
        self.youngest
            .entry(key)
            .and_compute_with(|known| match known {
                Some(known) if known.value() >= &page => Op::Nop,
                _ => Op::Put(page),
            });
    }

    /// Keeps an answer.
    pub(crate) fn keep(&self, project: ProjectId, spec: &ScanSpec, kept: KeptAnswer) {
        self.kept
            .insert(AnswerKey::new(project, spec), Arc::new(kept));
    }

    /// The answer that is kept of a request.
    pub(crate) fn get(&self, project: ProjectId, spec: &ScanSpec) -> Option<Arc<KeptAnswer>> {
        self.kept.get(&AnswerKey::new(project, spec))
    }

    /// Whether this is the youngest page of its URL, as far as this process knows.
    pub(crate) fn is_youngest(&self, key: &PageKey, page: PageId) -> bool {
        self.youngest.get(key) == Some(page)
    }
}
