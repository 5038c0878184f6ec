//! What a run starts from, where that is a sitemap: it is read, and what it lists is
//! crawled without following links.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use anyhow::bail;
use orbweaver_core::limits::MAX_SITEMAP_BYTES;
use orbweaver_core::sitemap::{self, Sitemap};
use orbweaver_fetch::{Oversize, Request};
use tokio::sync::mpsc;
use url::Url;

use crate::shared::Shared;
use orbweaver_pipeline::blocking;

/// Sitemaps read for one run: an index of 50,000 sitemaps lists more than any run fetches.
const MAX_SITEMAPS: usize = 1_000;
/// Indexes within indexes.
const MAX_NESTING: u32 = 5;

/// Reads the run's sitemaps and hands over what they list, in order. Ends when everything
/// is read or nobody takes any more.
///
/// # Errors
/// Why the first sitemap can't be read; those that it names may fail.
pub(super) async fn read(
    shared: Arc<Shared>,
    found: mpsc::Sender<Vec<String>>,
) -> anyhow::Result<()> {
    let seed = Url::parse(&shared.spec.url)?;
    let is_origin = seed.path() == "/" && seed.query().is_none();
    let start = if is_origin {
        seed.join("/sitemap.xml")?
    } else {
        seed.clone()
    };
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([(start.to_string(), 0)]);
    let mut read = 0;
    let mut failure = None;
    while let Some((url, nesting)) = queue.pop_front() {
        if !seen.insert(url.clone()) || seen.len() > MAX_SITEMAPS {
            continue;
        }
        shared.wait_for(&url).await;
        match one(&shared, &url).await {
            Ok(sitemap) => {
                read += 1;
                if nesting < MAX_NESTING {
                    let further = sitemap.sitemaps.into_iter();
                    queue.extend(further.map(|entry| (entry.url, nesting + 1)));
                }
                let pages = sitemap.pages.into_iter().map(|entry| entry.url).collect();
                if found.send(pages).await.is_err() {
                    return Ok(());
                }
            }
            Err(error) => {
                tracing::info!(run.id = %shared.lease.run, %error, "a sitemap can't be read");
                if is_origin && failure.is_none() && read == 0 {
                    queue.extend(named(&shared, &seed).await.into_iter().map(|url| (url, 0)));
                }
                failure.get_or_insert(error);
            }
        }
    }
    match failure {
        Some(error) if read == 0 => Err(error),
        _ => Ok(()),
    }
}

/// The sitemaps that robots.txt names.
async fn named(shared: &Shared, seed: &Url) -> Vec<String> {
    let fetcher = &shared.crawls.pipeline.fetcher;
    let robots = fetcher.site_files().robots(fetcher, seed).await;
    let sitemaps = robots.robots.sitemaps().iter();
    sitemaps
        .filter_map(|sitemap| Some(seed.join(sitemap).ok()?.to_string()))
        .collect()
}

async fn one(shared: &Shared, url: &str) -> anyhow::Result<Sitemap> {
    let spec = &shared.spec;
    let fetcher = &shared.crawls.pipeline.fetcher;
    // A sitemap of another host gets nothing that was meant for this one.
    let trusted = shared.trusts(url);
    let request = Request {
        headers: shared.headers(trusted),
        cookies: spec.cookies.clone().filter(|_| trusted),
        jar: Some(shared.jar.clone()),
        user_agent: Some(fetcher.user_agent(spec.user_agent.as_deref(), 0).to_owned()),
        max_bytes: Some(MAX_SITEMAP_BYTES as u64 + 1),
        oversize: Oversize::Truncate,
        ..Request::get(url)
    };
    let response = shared.fetch(request, 0).await?;
    if response.status != 200 {
        bail!("{url} answers {}", response.status);
    }
    let parsed = blocking(move || {
        let body = sitemap::unpack(&response.body)?;
        sitemap::parse(&body, &response.final_url)
    })
    .await?;
    parsed.map_err(|error| anyhow::anyhow!("{url}: {error}"))
}
