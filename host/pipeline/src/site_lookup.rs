//! robots.txt and llms.txt of a scan's site, looked up while the page is fetched.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_fetch::RobotsAnswer;
use serde_json::value::RawValue;
use tokio::task::JoinHandle;
use url::Url;

use crate::pipeline::Pipeline;
use crate::site::Site;

/// How long a scan that has its page waits for them. They keep loading for the next scan.
const PATIENCE: Duration = Duration::from_secs(3);

/// A look-up under way.
pub(crate) struct Lookup {
    url: Option<Url>,
    task: Option<JoinHandle<Site>>,
}

impl Lookup {
    /// Starts with the URL that is asked for.
    pub(crate) fn start(pipeline: &Pipeline, url: &str) -> Self {
        let url = Url::parse(url).ok();
        let task = url.clone().map(|url| spawn(pipeline, url));
        Self { url, task }
    }

    /// What the site that answered says: another one, where redirects led to it.
    pub(crate) async fn finish(self, pipeline: &Pipeline, final_url: &str) -> Site {
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

impl Pipeline {
    /// What a URL's site says about itself.
    pub async fn site(&self, url: &str) -> Site {
        Lookup::start(self, url).finish(self, url).await
    }
}

impl Pipeline {
    /// What a robots.txt says to AI crawlers, as JSON; none where it could not be asked for.
    pub async fn ai_policy(&self, robots: &Arc<RobotsAnswer>) -> Option<Arc<RawValue>> {
        self.policies.of(robots).await
    }
}

/// Asks the cache, and the site where it has to.
pub(crate) async fn look_up(pipeline: &Pipeline, url: &Url) -> Site {
    let fetcher = &pipeline.fetcher;
    let files = fetcher.site_files();
    let (robots, llms, llms_full) = tokio::join!(
        files.robots(fetcher, url),
        files.llms_txt(fetcher, url),
        files.llms_full_txt(fetcher, url),
    );
    Site {
        policy: pipeline.policies.of(&robots).await,
        llms,
        llms_full,
    }
}
