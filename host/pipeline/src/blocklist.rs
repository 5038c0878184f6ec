//! The blocklist of malicious domains: loads the sources, keeps them current and passes the
//! list to the fetcher, which refuses listed hosts before anything is queued and at redirects.
//!
//! A source is a file, looked at every two seconds, or a URL, asked for anew after
//! `blocklist.refresh_seconds`. A source that fails keeps what it said last; a URL's list is
//! kept in the data folder, so that this holds over restarts, too.

mod kept;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use orbweaver_core::guard::HostList;
use orbweaver_core::setting::Seconds;
use orbweaver_fetch::{Fetcher, Request};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::blocking::{blocking, blocking_of};
use crate::config::BlocklistConfig;
use kept::KeptLists;

/// How often files are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
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
    kept: KeptLists,
}

struct Source {
    at: ListSource,
    /// What it said last; none until it was read.
    hosts: Option<HostList>,
}

enum ListSource {
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
    /// Reads every source and hands the list to the fetcher. For a URL that fails its copy in
    /// the data folder stands in, so that someone else's outage does not keep the service
    /// down; it is asked again soon.
    ///
    /// # Errors
    /// A file that cannot be read; with `blocklist.required` also a URL that fails and has no
    /// copy: without its list, what it forbids would be fetched.
    #[crate::boxed]
    pub async fn load(
        config: &BlocklistConfig,
        data_dir: &Path,
        fetcher: &Fetcher,
    ) -> anyhow::Result<Self> {
        let mut sources = Vec::with_capacity(config.sources.len());
        for source in &config.sources {
            let at = if is_url(source) {
                ListSource::Url {
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
                ListSource::File { path, seen: None }
            };
            sources.push(Source { at, hosts: None });
        }
        let mut blocklist = Self {
            fetcher: fetcher.clone(),
            sources,
            refresh: config.refresh_seconds.max(Seconds(1)).as_duration(),
            kept: KeptLists::in_data_dir(data_dir),
        };
        blocklist.refresh().await;
        blocklist.take_copies(config.required).await?;
        Ok(blocklist)
    }

    /// Reads the copies of the URLs that could not be read.
    async fn take_copies(&mut self, required: bool) -> anyhow::Result<()> {
        let mut taken = false;
        for source in &mut self.sources {
            if source.hosts.is_some() {
                continue;
            }
            let url = match &source.at {
                ListSource::File { path, .. } => {
                    anyhow::bail!("blocklist.sources: cannot read {}", path.display());
                }
                ListSource::Url { url, .. } => url.clone(),
            };
            let (kept, asked) = (self.kept.clone(), url.clone());
            let copy =
                blocking(move || kept.read(&asked).map(|copy| copy.map(|text| parse(&text))));
            match copy.await? {
                Ok(Some(hosts)) => {
                    tracing::warn!(
                        url,
                        hosts = hosts.len(),
                        "the copy of a blocklist stands in"
                    );
                    source.hosts = Some(hosts);
                    taken = true;
                }
                kept => {
                    let why = kept.err().map_or_else(
                        || "no copy of it was kept".to_owned(),
                        |error| format!("its copy cannot be read: {error}"),
                    );
                    if required {
                        anyhow::bail!(
                            "blocklist.sources: cannot read {url}, and {why}; set \
                             blocklist.required = false to start without it"
                        );
                    }
                    tracing::error!(
                        url,
                        why,
                        "a blocklist is missing: its hosts are fetched from"
                    );
                }
            }
        }
        if taken {
            self.publish();
        }
        Ok(())
    }

    /// Hands the lists to the fetcher.
    fn publish(&self) {
        let mut all = HostList::default();
        for hosts in self
            .sources
            .iter()
            .filter_map(|source| source.hosts.as_ref())
        {
            all.extend(hosts);
        }
        tracing::info!(hosts = all.len(), "the blocklist is read");
        self.fetcher.set_blocklist(all);
    }

    /// Keeps the list current; ends with the task that runs it.
    #[crate::boxed]
    pub async fn run(&mut self) {
        if self.sources.is_empty() {
            return;
        }
        let mut looks = interval(POLL_INTERVAL);
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
                ListSource::File { path, seen } => read_file(path, seen).await,
                ListSource::Url { url, etag, next } if *next <= Instant::now() => {
                    let read = fetch(&self.fetcher, url, etag).await;
                    let wait = if read.is_ok() {
                        self.refresh
                    } else {
                        AFTER_FAILURE
                    };
                    *next = Instant::now() + wait;
                    read
                }
                ListSource::Url { .. } => Ok(None),
            };
            let read = match read {
                Ok(Some(text)) => taken_over(&source.at, &self.kept, text).await.map(Some),
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            };
            match read {
                Ok(Some(hosts)) => {
                    source.hosts = Some(hosts);
                    changed = true;
                }
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
            self.publish();
        }
    }
}

/// The hosts of a text that a source gave. That of a URL is kept, unless it lists nothing: an
/// error page is no list.
async fn taken_over(at: &ListSource, kept: &KeptLists, text: String) -> anyhow::Result<HostList> {
    let copy = match at {
        ListSource::Url { url, .. } => Some((kept.clone(), url.clone())),
        ListSource::File { .. } => None,
    };
    blocking_of(text.len(), move || {
        let hosts = parse(&text);
        let Some((kept, url)) = copy else {
            return Ok(hosts);
        };
        if hosts.is_empty() {
            anyhow::bail!("blocklist {url}: lists no host");
        }
        if let Err(error) = kept.write(&url, &text) {
            tracing::warn!(%error, url, "a blocklist cannot be kept for the next start");
        }
        Ok(hosts)
    })
    .await?
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
        ..Request::get(url).patient(TIMEOUT)
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
        200 if response.truncated => {
            anyhow::bail!(
                "blocklist {url}: the list is incomplete: its compressed body ended early"
            )
        }
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
