//! robots.txt and llms.txt of a scan's site, looked up while the page is fetched.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::robots::{ai_crawlers, ai_policy};
use orbweaver_fetch::{RobotsAnswer, TextFile};
use tokio::task::JoinHandle;
use url::Url;

use super::Pipeline;

/// How long a scan that has its page waits for them. They keep loading for the next scan.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a site says about itself.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Bot to policy word, as JSON; none where robots.txt could not be asked for.
    pub(super) policy: Option<Arc<str>>,
    /// llms.txt.
    pub(super) llms: TextFile,
    /// llms-full.txt.
    pub(super) llms_full: TextFile,
}

/// A look-up under way.
pub struct Lookup {
    url: Option<Url>,
    task: Option<JoinHandle<Site>>,
}

impl Lookup {
    /// Starts with the URL that is asked for.
    pub fn start(pipeline: &Pipeline, url: &str) -> Self {
        let url = Url::parse(url).ok();
        let task = url.clone().map(|url| spawn(pipeline, url));
        Self { url, task }
    }

    /// What the site that answered says: another one, where redirects led to it.
    pub async fn finish(self, pipeline: &Pipeline, final_url: &str) -> Site {
        let task = match Url::parse(final_url) {
            Ok(last) if self.url.is_none_or(|first| first.origin() != last.origin()) => {
                Some(spawn(pipeline, last))
            }
            _ => self.task,
        };
        let Some(task) = task else {
            return Site::default();
        };
        match tokio::time::timeout(PATIENCE, task).await {
            Ok(Ok(site)) => site,
            _ => Site::default(),
        }
    }
}

/// In a task of its own, so that it ends for the next scan when this one gives up.
fn spawn(pipeline: &Pipeline, url: Url) -> JoinHandle<Site> {
    let pipeline = pipeline.clone();
    tokio::spawn(async move { look_up(&pipeline, &url).await })
}

impl Site {
    /// Whether both came from the same answers of the site.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |a: &TextFile, b: &TextFile| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same(&self.policy, &other.policy)
            && same(&self.llms, &other.llms)
            && same(&self.llms_full, &other.llms_full)
    }
}

impl Pipeline {
    /// What a URL's site says about itself.
    pub async fn site(&self, url: &str) -> Site {
        Lookup::start(self, url).finish(self, url).await
    }
}

impl Pipeline {
    /// What a robots.txt says to AI crawlers, as JSON; none where it could not be asked for.
    pub fn ai_policy(&self, robots: &Arc<RobotsAnswer>) -> Option<Arc<str>> {
        self.policies.of(robots)
    }
}

/// Asks the cache, and the site where it has to.
pub(super) async fn look_up(pipeline: &Pipeline, url: &Url) -> Site {
    let fetcher = &pipeline.fetcher;
    let files = fetcher.site_files();
    let (robots, llms, llms_full) = tokio::join!(
        files.robots(fetcher, url),
        files.llms_txt(fetcher, url),
        files.llms_full_txt(fetcher, url),
    );
    Site {
        policy: pipeline.policies.of(&robots),
        llms,
        llms_full,
    }
}

/// Policies worked out already: 160 bots are too many to judge for every scan of a site.
#[derive(Clone, Debug)]
pub struct Policies(moka::sync::Cache<usize, (Arc<RobotsAnswer>, Arc<str>)>);

impl Default for Policies {
    fn default() -> Self {
        Self(moka::sync::Cache::new(1_000))
    }
}

impl Policies {
    /// The policy as JSON; none where robots.txt could not be asked for.
    fn of(&self, robots: &Arc<RobotsAnswer>) -> Option<Arc<str>> {
        robots.status?;
        // The entry holds the answer, so its address can't become another one's.
        let address = Arc::as_ptr(robots).addr();
        let (_, policy) = self.0.get_with(address, || {
            let policy = ai_policy(&robots.robots, ai_crawlers().iter().map(String::as_str));
            let json = serde_json::to_string(&policy).unwrap_or_else(|_| "null".to_owned());
            (Arc::clone(robots), Arc::from(json))
        });
        Some(policy)
    }
}
