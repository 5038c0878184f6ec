//! A list of URLs to fetch, checked one by one.

use std::collections::HashSet;

use orbweaver_core::key_hash::key_hash;
use orbweaver_fetch::Kind;
use orbweaver_pipeline::{Pipeline, ScanError, blocking_of, rules};
use orbweaver_store::crawl::{FailedUrl, NewFrontier};
use orbweaver_urls::{KeyRules, Resolved, key_of};

use crate::context::Crawls;
use crate::spec::MAX_PAGES;

/// Maximum number of URLs in a list.
pub const MAX_URLS: usize = MAX_PAGES as usize;
/// Maximum bytes of a URL.
const MAX_URL_BYTES: usize = 8_192;
/// Maximum bytes of a refused URL that are stored.
const SHOWN_BYTES: usize = 2_048;

/// The URLs of a run that has a list.
#[derive(Clone, Debug, Default)]
pub struct UrlList {
    /// Those to fetch, in the order of the list, each once.
    pub urls: Vec<NewFrontier>,
    /// Those that may not be fetched, with the rule.
    pub refused: Vec<FailedUrl>,
    /// Number of URLs left out as repeats.
    pub duplicates: usize,
}

impl UrlList {
    /// Checks the URLs of a list: which ones may be fetched, and which are repeats.
    ///
    /// # Errors
    /// If the process is stopping.
    #[crate::boxed]
    pub async fn check(crawls: &Crawls, urls: Vec<String>) -> Result<Self, ScanError> {
        let pipeline = crawls.pipeline.clone();
        let rules = KeyRules {
            drop_tracking: crawls.config.drop_tracking,
        };
        let now = crawls.clock.now();
        let bytes = urls.iter().map(String::len).sum();
        blocking_of(bytes, move || {
            let mut list = Self::default();
            let mut known = HashSet::with_capacity(urls.len());
            for url in urls {
                match parse(&pipeline, &url) {
                    Ok(resolved) => list.add(&resolved, rules, &mut known),
                    Err(message) => {
                        let seq = -i64::try_from(list.refused.len() + 1).unwrap_or(i64::MAX);
                        list.refused.push(FailedUrl {
                            seq,
                            key_hash: key_hash(&url),
                            url: shown(&url),
                            kind: Kind::Refused.as_str().to_owned(),
                            message,
                            attempts: 0,
                            failed_at: now,
                        });
                    }
                }
            }
            list
        })
        .await
    }

    fn add(&mut self, url: &Resolved, rules: KeyRules, known: &mut HashSet<u64>) {
        let key_hash = key_hash(&key_of(url, rules));
        if !known.insert(key_hash) {
            self.duplicates += 1;
            return;
        }
        self.urls.push(NewFrontier {
            seq: i64::try_from(self.urls.len()).unwrap_or(i64::MAX),
            url: url.without_fragment().to_owned(),
            key_hash,
            depth: 0,
            priority: 0,
        });
    }
}

fn parse(pipeline: &Pipeline, url: &str) -> Result<Resolved, String> {
    if url.len() > MAX_URL_BYTES {
        return Err(format!("must be at most {MAX_URL_BYTES} bytes"));
    }
    rules::url(pipeline, "url", url).map_err(|error| error.rule)?;
    Resolved::parse(url).ok_or_else(|| "is not a URL".to_owned())
}

/// A refused URL as it is listed: shortened, without characters that a database refuses.
fn shown(url: &str) -> String {
    let cut = url.get(..url.floor_char_boundary(SHOWN_BYTES));
    cut.unwrap_or_default().replace('\0', "")
}
