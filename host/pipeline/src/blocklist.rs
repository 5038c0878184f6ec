//! The blocklist of malicious domains: loads the sources, keeps them current and passes the
//! list to the fetcher, which refuses listed hosts before anything is queued and at redirects.
//!
//! A source is a file, checked every two seconds, or a URL, fetched again after
//! `blocklist.refresh_seconds`. If a source fails, its last content stays in use.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use orbweaver_core::guard::HostList;
use orbweaver_core::setting::Seconds;
use orbweaver_fetch::{Fetcher, Request};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::blocking::blocking;
use crate::config::BlocklistConfig;

/// How often files are checked.
const LOOK: Duration = Duration::from_secs(2);
/// Wait after a failed fetch of a URL.
const AFTER_FAILURE: Duration = Duration::from_secs(60);
/// Largest size of a list in bytes: the largest public ones have 50 MB.
const MAX_BYTES: u64 = 128 << 20;
const TIMEOUT: Duration = Duration::from_secs(120);

/// The sources and their last content.
pub struct Blocklist {
    fetcher: Fetcher,
    sources: Vec<Source>,
    refresh: Duration,
}

struct Source {
    at: Place,
    hosts: HostList,
}

enum Place {
    File {
        path: PathBuf,
        /// Modification time and length when it was last read.
        seen: Option<(SystemTime, u64)>,
    },
    Url {
        url: String,
        etag: Option<String>,
        next: Instant,
    },
}

impl Blocklist {
    /// Reads every source and passes the list to the fetcher. A URL that fails is logged and
    /// retried soon, so that the service starts despite an outage elsewhere.
    ///
    /// # Errors
    /// When a file cannot be read.
    #[crate::boxed]
    pub async fn load(config: &BlocklistConfig, fetcher: &Fetcher) -> anyhow::Result<Self> {
        let mut sources = Vec::with_capacity(config.sources.len());
        for source in &config.sources {
            let at = if is_url(source) {
                Place::Url {
                    url: source.clone(),
                    etag: None,
                    next: Instant::now(),
                }
            } else {
                let path = PathBuf::from(source);
                // Checked here, so that a wrong path is reported at the start.
                tokio::fs::metadata(&path)
                    .await
                    .with_context(|| format!("blocklist.sources: cannot read {source}"))?;
                Place::File { path, seen: None }
            };
            sources.push(Source {
                at,
                hosts: HostList::default(),
            });
        }
        let mut blocklist = Self {
            fetcher: fetcher.clone(),
            sources,
            refresh: config.refresh_seconds.max(Seconds(1)).as_duration(),
        };
        blocklist.refresh().await;
        Ok(blocklist)
    }

    /// Keeps the list current; never returns.
    #[crate::boxed]
    pub async fn run(mut self) {
        if self.sources.is_empty() {
            return;
        }
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.refresh().await;
        }
    }

    /// Reads the sources that changed, and replaces the list if any did.
    async fn refresh(&mut self) {
        let mut changed = false;
        for source in &mut self.sources {
            let read = match &mut source.at {
                Place::File { path, seen } => read_file(path, seen).await,
                Place::Url { url, etag, next } if *next <= Instant::now() => {
                    let read = fetch(&self.fetcher, url, etag).await;
                    let wait = if read.is_ok() {
                        self.refresh
                    } else {
                        AFTER_FAILURE
                    };
                    *next = Instant::now() + wait;
                    read
                }
                Place::Url { .. } => Ok(None),
            };
            match read {
                Ok(Some(text)) => match blocking(move || parse(&text)).await {
                    Ok(hosts) => {
                        source.hosts = hosts;
                        changed = true;
                    }
                    Err(error) => tracing::error!(%error, "cannot read a blocklist"),
                },
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(
                        error = %format!("{error:#}"),
                        "cannot read a blocklist; its last content stays in use"
                    );
                }
            }
        }
        if changed {
            let mut all = HostList::default();
            for source in &self.sources {
                all.extend(&source.hosts);
            }
            tracing::info!(hosts = all.len(), "blocklist loaded");
            self.fetcher.set_blocklist(all);
        }
    }
}

fn parse(text: &str) -> HostList {
    let mut hosts = HostList::default();
    hosts.add(text);
    hosts
}

/// The file's text, if it changed since the last read.
async fn read_file(
    path: &Path,
    seen: &mut Option<(SystemTime, u64)>,
) -> anyhow::Result<Option<String>> {
    let context = || format!("blocklist {}", path.display());
    let meta = tokio::fs::metadata(path).await.with_context(context)?;
    let now = (meta.modified().with_context(context)?, meta.len());
    if *seen == Some(now) {
        return Ok(None);
    }
    if meta.len() > MAX_BYTES {
        anyhow::bail!("{}: larger than {MAX_BYTES} bytes", path.display());
    }
    let bytes = tokio::fs::read(path).await.with_context(context)?;
    *seen = Some(now);
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The list at a URL; `None` if the server says that it has not changed.
async fn fetch(
    fetcher: &Fetcher,
    url: &str,
    etag: &mut Option<String>,
) -> anyhow::Result<Option<String>> {
    let mut request = Request {
        max_bytes: Some(MAX_BYTES),
        timeout: Some(TIMEOUT),
        ..Request::get(url)
    };
    if let Some(etag) = etag.as_deref() {
        request
            .headers
            .push(("if-none-match".to_owned(), etag.to_owned()));
    }
    let response = fetcher
        .fetch(request)
        .await
        .with_context(|| format!("blocklist {url}"))?;
    match response.status {
        200 => {
            *etag = response.headers.get("etag").map(str::to_owned);
            Ok(Some(String::from_utf8_lossy(&response.body).into_owned()))
        }
        304 => Ok(None),
        status => anyhow::bail!("blocklist {url}: status {status}"),
    }
}

fn is_url(source: &str) -> bool {
    let source = source.to_ascii_lowercase();
    source.starts_with("http://") || source.starts_with("https://")
}
