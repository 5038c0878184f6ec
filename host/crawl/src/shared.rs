//! State that all fetches of a run share.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

use arc_swap::ArcSwap;
use orbweaver_core::key_hash::key_hash;
use orbweaver_engine::Engine;
use orbweaver_fetch::{
    CookieJar, FetchError, Fetcher, Personal, PersonalOf, ProxyUrl, Request, Response, RobotsRead,
    is_impersonal,
};
use orbweaver_store::Amount;
use orbweaver_store::crawl::Lease;
use orbweaver_urls::{Base, KeyRules, Resolved};
use parking_lot::Mutex;
use tokio::time::Instant;
use url::Url;

use crate::commit::Committer;
use crate::context::Crawls;
use crate::entry::{Entry, host_key};
use crate::hooks::Hooks;
use crate::hooks::report::Subject;
use crate::politeness::{Turn, Turns};
use crate::render::{RenderMode, Rendering};
use crate::scope::Scope;
use crate::spec::{CrawlSpec, SeedKind};

/// State that all fetches of a run share.
pub(crate) struct Shared {
    pub crawls: Crawls,
    /// Sends the run's requests, as its project's.
    pub fetcher: Fetcher,
    pub lease: Lease,
    pub spec: CrawlSpec,
    /// The base URL for parsing links, which are absolute.
    pub seed: Base,
    /// Extended once, when the seed redirects to another host.
    pub scope: ArcSwap<Scope>,
    pub rules: KeyRules,
    /// When the run may send requests to its hosts.
    pub turns: Turns,
    pub jar: CookieJar,
    pub proxy: Option<ProxyUrl>,
    /// Keys of pages that are stored or being fetched, each with the key of the URL that is
    /// fetched: its own, or one that redirects to it.
    pub claims: Mutex<HashMap<u64, u64>>,
    /// The run whose pages are used for "not modified".
    pub previous: Option<orbweaver_core::ids::RunId>,
    /// Extractors that run for every page, by role.
    pub extractors: Vec<String>,
    /// Which hosts' pages need a browser.
    pub rendering: Rendering,
    pub hooks: Hooks,
    /// Runs the plugins, those of the run's project first.
    pub engine: Engine,
    pub committer: Committer,
}

impl Shared {
    /// Fetches through the run's proxy or pool, or directly.
    #[crate::boxed]
    pub async fn fetch(&self, request: Request, random: u64) -> Result<Response, FetchError> {
        let fetcher = &self.fetcher;
        let country = self.spec.proxy_country.as_deref();
        // Boxed: the fetch's state is large, and every open entry has one.
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

    /// Waits until a URL's host may be requested, and takes the right to one request.
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

    /// When the run may send requests to a host (with its port).
    pub fn turn(&self, host: &str) -> Arc<Turn> {
        self.turns.turn(self.crawls.live.politeness(), host)
    }

    /// Whether a URL may receive the headers and cookies given for the seed.
    pub fn trusts(&self, url: &str) -> bool {
        Resolved::parse(url).is_some_and(|url| self.scope.load().is_trusted(&url))
    }

    /// The run's headers; for hosts other than the seed's only those that do not identify the
    /// client.
    pub fn headers(&self, trusted: bool) -> Vec<(String, String)> {
        let headers = self.spec.headers.iter();
        headers
            .filter(|(name, _)| trusted || is_impersonal(name))
            .cloned()
            .collect()
    }

    /// How the run asks for site files of a URL's origin (robots.txt, llms.txt): as for its pages, by its
    /// proxy or pool, with its headers and cookies where the origin may receive them.
    pub fn personal(&self, url: &str) -> Personal {
        let country = self.spec.proxy_country.as_deref();
        let by = match (&self.proxy, self.spec.proxy_pool) {
            (None, Some(pool)) => Personal::by_pool(pool, country, key_hash(url)),
            (proxy, _) => Personal::by(proxy.clone()),
        };
        if !self.trusts(url) {
            return by;
        }
        Personal {
            headers: self.spec.headers.clone(),
            cookies: self.spec.cookies.clone(),
            ..by
        }
    }

    /// The same for requests that obey robots.txt; `None` if the run has nothing of its own.
    pub fn personal_of(self: &Arc<Self>) -> Option<PersonalOf> {
        let spec = &self.spec;
        let is_plain = spec.headers.is_empty()
            && spec.cookies.is_none()
            && self.proxy.is_none()
            && spec.proxy_pool.is_none();
        if is_plain {
            return None;
        }
        let shared = Arc::clone(self);
        Some(Arc::new(move |url| shared.personal(url.as_str())))
    }

    /// robots.txt of a URL's origin, as the run may read it. With `again`, a failure that others have
    /// met is no answer.
    #[crate::boxed]
    pub async fn robots(&self, url: &Url, again: bool) -> RobotsRead {
        let fetcher = &self.fetcher;
        let personal = self.personal(url.as_str());
        let files = fetcher.site_files();
        files.robots_for(fetcher, url, &personal, again).await
    }

    /// What so many pages of the run are billed as.
    pub fn pages_of(&self, pages: u64) -> Amount {
        match self.spec.render {
            RenderMode::Always => Amount::cloud(pages),
            RenderMode::Never | RenderMode::Auto => Amount::pages(pages),
        }
    }

    /// A URL that a plugin does something to now.
    pub fn subject<'a>(&self, url: &'a str, key_hash: u64) -> Subject<'a> {
        Subject {
            url,
            key_hash,
            at: self.crawls.clock.now(),
        }
    }

    /// Whether an entry is the seed.
    pub fn is_seed(&self, entry: &Entry) -> bool {
        entry.seq == 0 && self.spec.seed_kind == SeedKind::Url && !self.spec.list
    }

    /// Claims a key for the URL of another one, or for its own; `false` if it was claimed before.
    pub fn claim(&self, hash: u64, claimer: u64) -> bool {
        match self.claims.lock().entry(hash) {
            Slot::Vacant(slot) => {
                slot.insert(claimer);
                true
            }
            Slot::Occupied(_) => false,
        }
    }

    /// The key of the URL for which a key is claimed.
    pub fn claimer(&self, hash: u64) -> Option<u64> {
        self.claims.lock().get(&hash).copied()
    }

    /// Releases the keys that a failed fetch claimed.
    pub fn unclaim(&self, hashes: &[u64]) {
        let mut claims = self.claims.lock();
        for hash in hashes {
            claims.remove(hash);
        }
    }
}
