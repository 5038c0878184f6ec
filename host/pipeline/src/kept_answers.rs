//! Cache of complete answers for stored pages, as the bytes that are sent.
//!
//! A cached answer is used only while all its inputs are unchanged: the project's newest page
//! of the URL, the plugins, and the site's robots.txt and llms.txt; and only while no stored page was
//! removed, which may have been its page.

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

use crate::CACHE_IDLE;
use crate::input_hash::InputHash;
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

/// A digest of a request.
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
            digest: InputHash::of(&(project, url_key, user_agent)),
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
        follow_refresh,
        content,
        browsing,
    } = spec;
    InputHash::of(&(
        project,
        url,
        user_agent,
        cloud_mode,
        follow_refresh,
        content,
        browsing,
    ))
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
    /// [`Store::removals`](orbweaver_store::Store::removals) before the page was looked up.
    pub(crate) removals: u64,
}

impl KeptAnswer {
    /// Bytes that the entry takes. The site's files are weighed by their own caches.
    fn weight(&self) -> u32 {
        let plugin = |(role, plugin): &(String, Option<PluginRef>)| {
            role.len() + plugin.as_ref().map_or(0, PluginRef::held_bytes)
        };
        let plugins: usize = self.plugins.iter().map(plugin).sum();
        let bytes = self.json.len() + self.final_url.as_str().len() + plugins + OVERHEAD;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

impl Answers {
    /// Creates a cache of `bytes` bytes of answers.
    pub(crate) fn new(bytes: u64) -> Self {
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, kept: &Arc<KeptAnswer>| kept.weight())
            .time_to_idle(CACHE_IDLE)
            .build();
        Self {
            kept,
            // These do not end: once its newest page is forgotten, a slow scan of an older page would
            // make that the newest.
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
    use std::time::Instant;

    use bytes::Bytes;
    use chrono::DateTime;
    use orbweaver_core::ids::{PageId, ProjectId};
    use orbweaver_fetch::Action;
    use orbweaver_store::CloudMode;
    use url::Url;

    use super::{Answers, KeptAnswer, PageKey, answer_key};
    use crate::CACHE_IDLE;
    use crate::browsing::{Browsing, WaitSpec};
    use crate::extract_fields::{ExtractSpec, PromptSpec};
    use crate::site::Site;
    use crate::spec::{Content, ScanSpec};

    fn spec() -> ScanSpec {
        ScanSpec {
            url: "https://example.com/a".into(),
            user_agent: None,
            max_age_seconds: None,
            cloud_mode: CloudMode::None,
            follow_refresh: false,
            content: Content::default(),
            browsing: Browsing::default(),
        }
    }

    fn extract(prompt: Option<&str>) -> ExtractSpec {
        ExtractSpec {
            options: String::new(),
            prompt: prompt.map(|prompt| PromptSpec {
                prompt: prompt.into(),
                schema: None,
            }),
        }
    }

    #[test]
    fn every_input_of_an_answer_is_in_its_key() {
        let project = ProjectId::from(7);
        let changes: [fn(&mut ScanSpec); 20] = [
            |spec| spec.url.push('b'),
            |spec| spec.user_agent = Some(String::new()),
            |spec| spec.user_agent = Some("Agent".into()),
            |spec| spec.cloud_mode = CloudMode::Auto,
            |spec| spec.follow_refresh = true,
            |spec| spec.content.metadata_only = true,
            |spec| spec.content.only_main_content = true,
            |spec| spec.content.include_links = true,
            |spec| spec.content.screenshot = true,
            |spec| spec.content.extractors.push("audit".into()),
            |spec| spec.content.extractors.push("audits".into()),
            |spec| drop(spec.content.options.insert("audit".into(), "{}".into())),
            |spec| spec.content.extract = Some(extract(None)),
            |spec| spec.content.extract = Some(extract(Some("a price"))),
            |spec| spec.browsing.wait = Some(WaitSpec::default()),
            |spec| spec.browsing.headers.push(("a".into(), "b".into())),
            |spec| spec.browsing.cookies = Some("a=b".into()),
            |spec| spec.browsing.actions.push(Action::Screenshot {}),
            |spec| spec.browsing.session = Some("a".into()),
            |spec| spec.browsing.session = Some("b".into()),
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
    fn a_page_s_key_has_project_url_agent_and_mode() {
        let key = |project: i64, url, agent, mode| PageKey::new(project.into(), url, agent, mode);
        let page = key(1, "a", "b", CloudMode::None);
        assert_eq!(page, key(1, "a", "b", CloudMode::None));
        for other in [
            key(2, "a", "b", CloudMode::None),
            key(1, "ab", "", CloudMode::None),
            key(1, "a", "c", CloudMode::None),
            key(1, "a", "b", CloudMode::Auto),
        ] {
            assert_ne!(page, other);
        }
    }

    #[test]
    fn answers_that_nobody_asks_for_are_dropped_and_newest_pages_are_not() {
        let answers = Answers::new(1_000);
        assert_eq!(answers.kept.policy().time_to_idle(), Some(CACHE_IDLE));
        assert_eq!(answers.youngest.policy().time_to_idle(), None);
    }

    #[test]
    fn an_answer_weighs_what_a_caller_decides_the_size_of() {
        let kept = |json: &str, url: &str, plugins| KeptAnswer {
            json: Bytes::copy_from_slice(json.as_bytes()),
            page_key: PageKey::new(ProjectId::from(1), url, "", CloudMode::None),
            page: PageId::from(1),
            fetched_at: DateTime::UNIX_EPOCH,
            final_url: Url::parse(url).unwrap(),
            site: Site::default(),
            plugins,
            at: Instant::now(),
            removals: 0,
        };
        let weight = |json, url, plugins| kept(json, url, plugins).weight();
        let least = weight("", "https://e.org/", Vec::new());
        assert_eq!(weight("{}", "https://e.org/", Vec::new()), least + 2);
        assert_eq!(weight("", "https://e.org/abc", Vec::new()), least + 3);
        let roles = vec![("role".to_owned(), None)];
        assert_eq!(weight("", "https://e.org/", roles), least + 4);
    }
}
