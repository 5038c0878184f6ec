//! Looks up robots.txt and llms.txt of a scan's site while the page is fetched.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_fetch::{Personal, RobotsAnswer};
use serde_json::value::RawValue;
use tokio::task::JoinHandle;
use url::Url;

use crate::pipeline::Pipeline;
use crate::site::Site;

/// How long a scan with a fetched page waits for them. The look-up continues for later scans.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);

/// A look-up in progress.
pub(crate) struct Lookup {
    url: Option<Url>,
    own: Personal,
    task: Option<JoinHandle<Site>>,
}

impl Lookup {
    /// Starts the look-up for the requested URL's site, in a caller's own way.
    pub(crate) fn start(pipeline: &Pipeline, url: &str, own: Personal) -> Self {
        let url = Url::parse(url).ok();
        let task = url.clone().map(|url| spawn(pipeline, url, own.clone()));
        Self { url, own, task }
    }

    /// The result for the final URL's site, which may be another one after redirects.
    pub(crate) async fn finish(self, pipeline: &Pipeline, final_url: &str) -> Site {
        let task = match Url::parse(final_url) {
            Ok(last) if self.url.is_none_or(|first| first.origin() != last.origin()) => {
                Some(spawn(pipeline, last, self.own))
            }
            _ => self.task,
        };
        let Some(task) = task else {
            return Site::default();
        };
        match tokio::time::timeout(LOOKUP_TIMEOUT, task).await {
            Ok(Ok(site)) => site,
            _ => Site::default(),
        }
    }
}

/// Runs in its own task, so that it completes for later scans if this one stops waiting.
fn spawn(pipeline: &Pipeline, url: Url, own: Personal) -> JoinHandle<Site> {
    let pipeline = pipeline.clone();
    tokio::spawn(async move { look_up(&pipeline, &url, &own).await })
}

impl Pipeline {
    /// What a URL's site says in robots.txt, llms.txt and llms-full.txt.
    #[crate::boxed]
    pub async fn site(&self, url: &str) -> Site {
        let lookup = Lookup::start(self, url, Personal::default());
        lookup.finish(self, url).await
    }
}

impl Pipeline {
    /// What a robots.txt says to AI crawlers, as JSON; none where it could not be asked for.
    #[crate::boxed]
    pub async fn ai_policy(&self, robots: &Arc<RobotsAnswer>) -> Option<Arc<RawValue>> {
        self.policies.policy(robots).await
    }
}

/// Uses the cache, or fetches the files.
pub(crate) async fn look_up(pipeline: &Pipeline, url: &Url, own: &Personal) -> Site {
    let fetcher = &pipeline.fetcher;
    let files = fetcher.site_files();
    let (robots, llms, llms_full) = tokio::join!(
        files.robots_for(fetcher, url, own, false),
        files.llms_txt_for(fetcher, url, own),
        files.llms_full_txt_for(fetcher, url, own),
    );
    Site {
        policy: pipeline.policies.policy(&robots.answer).await,
        llms,
        llms_full,
    }
}
