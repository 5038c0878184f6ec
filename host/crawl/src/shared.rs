//! What all fetches of a run share.

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use orbweaver_fetch::{CookieJar, FetchError, ProxyUrl, Request, Response, is_impersonal};
use orbweaver_store::crawl::Lease;
use orbweaver_urls::{Base, KeyRules, Resolved};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::context::Crawls;
use crate::entry::{Entry, host_key};
use crate::politeness::{Turn, Turns};
use crate::scope::Scope;
use crate::spec::{CrawlSpec, SeedKind};

/// What all fetches of a run share.
pub(crate) struct Shared {
    pub crawls: Crawls,
    pub lease: Lease,
    pub spec: CrawlSpec,
    /// What links are read against; they are absolute.
    pub seed: Base,
    /// Widened once, when the seed redirects to another host.
    pub scope: ArcSwap<Scope>,
    pub rules: KeyRules,
    /// When the run may ask its hosts.
    pub turns: Turns,
    pub jar: CookieJar,
    pub proxy: Option<ProxyUrl>,
    /// Keys that have a page row or are being fetched for one.
    pub claims: Mutex<HashSet<u64>>,
    /// The run whose pages answer "not modified".
    pub previous: Option<orbweaver_core::ids::RunId>,
    /// Extractors that run for every page, by role.
    pub extractors: Vec<String>,
}

impl Shared {
    /// Fetches by the way that the run goes: its proxy, its pool, or direct.
    #[crate::boxed]
    pub async fn fetch(&self, request: Request, random: u64) -> Result<Response, FetchError> {
        let fetcher = &self.crawls.pipeline.fetcher;
        let country = self.spec.proxy_country.as_deref();
        // Boxed: the fetch's state is large, and every entry under way has one.
        match (&self.proxy, self.spec.proxy_pool) {
            (None, Some(pool)) => {
                Box::pin(fetcher.fetch_through(pool, country, random, request)).await
            }
            (proxy, _) => {
                let proxy = proxy.clone();
                Box::pin(fetcher.fetch(Request { proxy, ..request })).await
            }
        }
    }

    /// Waits until a URL's host may be asked, and takes the right to one request.
    #[crate::boxed]
    pub async fn wait_for(&self, url: &str) {
        let Some(url) = Resolved::parse(url) else {
            return;
        };
        let turn = self.turn(&host_key(&url));
        while let Err(open) = turn.take(Instant::now()) {
            tokio::time::sleep_until(open).await;
        }
    }

    /// When the run may ask a host (with its port).
    pub fn turn(&self, host: &str) -> Arc<Turn> {
        self.turns.of(self.crawls.live.politeness(), host)
    }

    /// Whether a URL may be told what the run was given for its seed.
    pub fn trusts(&self, url: &str) -> bool {
        Resolved::parse(url).is_some_and(|url| self.scope.load().is_trusted(&url))
    }

    /// The run's headers, for others than the seed's own hosts those that say nothing about
    /// who asks.
    pub fn headers(&self, trusted: bool) -> Vec<(String, String)> {
        let headers = self.spec.headers.iter();
        headers
            .filter(|(name, _)| trusted || is_impersonal(name))
            .cloned()
            .collect()
    }

    /// Whether an entry is the page that the run starts from.
    pub fn is_seed(&self, entry: &Entry) -> bool {
        entry.seq == 0 && self.spec.seed_kind == SeedKind::Url
    }

    /// Takes a key; `false` where it was taken before.
    pub fn claim(&self, hash: u64) -> bool {
        self.claims.lock().insert(hash)
    }

    /// Gives keys back that a failed fetch took on its way.
    pub fn unclaim(&self, hashes: &[u64]) {
        let mut claims = self.claims.lock();
        for hash in hashes {
            claims.remove(hash);
        }
    }
}
