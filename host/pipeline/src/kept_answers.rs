//! Cache of complete answers for stored pages, as the bytes that are sent.
//!
//! A cached answer is used only while all its inputs are unchanged: the project's newest page
//! of the URL, the plugins, and the site's robots.txt and llms.txt.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use moka::ops::compute::Op;
use moka::sync::Cache;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_engine::PluginRef;
use orbweaver_store::CloudMode;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::CACHE_IDLE;
use crate::site::Site;
use crate::spec::ScanSpec;

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

/// A digest of a request: as long for a caller's long URL and options as for short ones, so that
/// what an entry takes is known.
type AnswerKey = [u8; 32];

/// The key of a stored page: a digest of project, normalised URL, requested user agent and mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    digest: [u8; 32],
    /// How the page was fetched.
    pub(crate) mode: CloudMode,
}

impl PageKey {
    pub(crate) fn new(
        project: ProjectId,
        url_key: &str,
        user_agent: &str,
        mode: CloudMode,
    ) -> Self {
        Self {
            digest: digest(&(project, url_key, user_agent)),
            mode,
        }
    }
}

/// The key of a request's answer.
fn answer_key(project: ProjectId, spec: &ScanSpec) -> AnswerKey {
    // Every field that an answer depends on: a new one must be named here, or does not compile.
    let ScanSpec {
        url,
        user_agent,
        max_age_seconds: _,
        cloud_mode,
        content,
        browsing,
    } = spec;
    digest(&(project, url, user_agent, cloud_mode, content, browsing))
}

/// SHA-256 of what a value hashes. Types hash themselves so that no value's bytes start with
/// another's (documentation of [`Hash`]), so different values differ here, too.
fn digest(value: &impl Hash) -> [u8; 32] {
    struct Sha(Sha256);

    impl Hasher for Sha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    let mut sha = Sha(Sha256::new());
    value.hash(&mut sha);
    sha.0.finalize().into()
}

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

impl KeptAnswer {
    /// Bytes that the entry takes.
    fn weight(&self) -> usize {
        let plugins: usize = self.plugins.iter().map(|(role, _)| role.len()).sum();
        self.json.len() + self.final_url.as_str().len() + plugins + OVERHEAD
    }
}

impl Answers {
    /// Creates a cache of `bytes` bytes of answers.
    pub(crate) fn new(bytes: u64) -> Self {
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, kept: &Arc<KeptAnswer>| u32::try_from(kept.weight()).unwrap_or(u32::MAX))
            .time_to_idle(CACHE_IDLE)
            .build();
        Self {
            kept,
            // Without end: a page that was forgotten here could be taken for the newest later.
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
        self.kept.insert(answer_key(project, spec), Arc::new(kept));
    }

    /// The cached answer of a request.
    pub(crate) fn get(&self, project: ProjectId, spec: &ScanSpec) -> Option<Arc<KeptAnswer>> {
        self.kept.get(&answer_key(project, spec))
    }

    /// Whether this is the newest page of its URL, as far as this process knows.
    pub(crate) fn is_youngest(&self, key: &PageKey, page: PageId) -> bool {
        self.youngest.get(key) == Some(page)
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::ProjectId;
    use orbweaver_store::CloudMode;

    use super::{PageKey, answer_key};
    use crate::browsing::Browsing;
    use crate::spec::{Content, ScanSpec};

    fn spec() -> ScanSpec {
        ScanSpec {
            url: "https://example.com/a".into(),
            user_agent: None,
            max_age_seconds: None,
            cloud_mode: CloudMode::None,
            content: Content::default(),
            browsing: Browsing::default(),
        }
    }

    #[test]
    fn every_input_of_an_answer_is_in_its_key() {
        let project = ProjectId::from(7);
        let changes: [fn(&mut ScanSpec); 7] = [
            |spec| spec.url.push('b'),
            |spec| spec.user_agent = Some(String::new()),
            |spec| spec.cloud_mode = CloudMode::Auto,
            |spec| spec.content.include_links = true,
            |spec| spec.content.metadata_only = true,
            |spec| spec.content.extractors.push("audit".into()),
            |spec| spec.browsing.wait = Some(crate::browsing::WaitSpec::default()),
        ];
        let mut keys = vec![
            answer_key(project, &spec()),
            answer_key(ProjectId::from(8), &spec()),
        ];
        for change in changes {
            let mut changed = spec();
            change(&mut changed);
            keys.push(answer_key(project, &changed));
        }
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
        let aged = ScanSpec {
            max_age_seconds: Some(60),
            ..spec()
        };
        assert_eq!(answer_key(project, &aged), answer_key(project, &spec()));
    }

    #[test]
    fn texts_of_a_page_key_do_not_run_into_each_other() {
        let key = |url, agent| PageKey::new(ProjectId::from(1), url, agent, CloudMode::None);
        assert_ne!(key("ab", "c"), key("a", "bc"));
        assert_ne!(
            key("a", ""),
            PageKey::new(ProjectId::from(2), "a", "", CloudMode::None)
        );
        assert_ne!(
            key("a", ""),
            PageKey::new(ProjectId::from(1), "a", "", CloudMode::Auto)
        );
        assert_eq!(key("a", "b"), key("a", "b"));
    }
}
