//! Cache of complete answers for stored pages, as the bytes that are sent.
//!
//! A cached answer is used only while all its inputs are unchanged: the project's newest page
//! of the URL, the plugins, and the site's robots.txt and llms.txt.

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

use crate::browsing::Browsing;
use crate::site::Site;
use crate::spec::{Content, ScanSpec};

/// Estimated memory of an entry besides its bytes.
const OVERHEAD: usize = 1_024;
/// Number of pages whose newest row is remembered.
const PAGES: u64 = 100_000;
/// In a database shared with other nodes, one of them may have stored a newer page. This is
/// how long that may go unnoticed.
pub(crate) const SHARED: Duration = Duration::from_secs(1);

/// Cached answers by request.
#[derive(Clone)]
pub(crate) struct Answers {
    kept: Cache<AnswerKey, Arc<KeptAnswer>>,
    /// The project's newest page of a URL, as far as this process knows.
    youngest: Cache<PageKey, PageId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnswerKey {
    project: ProjectId,
    url: String,
    user_agent: Option<String>,
    cloud_mode: CloudMode,
    content: Content,
    browsing: Browsing,
}

/// Project, normalised URL, requested user agent and mode: the key of a stored page.
pub(crate) type PageKey = (ProjectId, String, String, CloudMode);

/// An answer and its inputs.
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
            browsing: spec.browsing.clone(),
        }
    }
}

impl Answers {
    /// Creates a cache of `bytes` bytes of answers.
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

    /// Bytes held. What was displaced is freed before.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.kept.run_pending_tasks();
        self.kept.weighted_size()
    }

    /// Records a page of a URL. Ids ascend, so the higher one is newer.
    pub(crate) fn note_page(&self, key: PageKey, page: PageId) {
        self.youngest
            .entry(key)
            .and_compute_with(|known| match known {
                Some(known) if known.value() >= &page => Op::Nop,
                _ => Op::Put(page),
            });
    }

    /// Caches an answer.
    pub(crate) fn keep(&self, project: ProjectId, spec: &ScanSpec, kept: KeptAnswer) {
        self.kept
            .insert(AnswerKey::new(project, spec), Arc::new(kept));
    }

    /// The cached answer of a request.
    pub(crate) fn get(&self, project: ProjectId, spec: &ScanSpec) -> Option<Arc<KeptAnswer>> {
        self.kept.get(&AnswerKey::new(project, spec))
    }

    /// Whether this is the newest page of its URL, as far as this process knows.
    pub(crate) fn is_youngest(&self, key: &PageKey, page: PageId) -> bool {
        self.youngest.get(key) == Some(page)
    }
}
