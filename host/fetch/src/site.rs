//! robots.txt, llms.txt and llms-full.txt, cached per origin.

mod personal;
mod requests;
mod robots_answer;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use moka::future::Cache;
use moka::policy::EvictionPolicy;
use moka::{Entry, Expiry};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::error::{FetchError, SubKind};
use crate::fetcher::Fetcher;
use personal::Key;
use requests::{fetch_robots, fetch_text};

pub use personal::{Personal, Way};
pub use robots_answer::{RobotsAnswer, RobotsFailure, RobotsRead, RobotsVerdict};

/// How long an answer is cached: the API's documented hour, within RFC 9309's limit of a day.
const ANSWER_LIFE: Duration = Duration::from_secs(3600);
/// How long a failure is cached.
const FAILURE_LIFE: Duration = Duration::from_secs(60);
/// Memory for robots.txt that were asked for with our own user agents, with their rules; and
/// for the other texts.
const MAX_CACHED_BYTES: u64 = 64 << 20;
/// Memory for robots.txt that were asked for with user agents of callers, who may name any
/// number of them: apart, so that nobody's agents displace what crawls need.
const MAX_AGENTS_BYTES: u64 = 16 << 20;
/// Memory for robots.txt that were asked for with headers, cookies or by a proxy.
const MAX_CALLERS_BYTES: u64 = 16 << 20;
/// Origins whose newest robots.txt is remembered, to be shared by agents that get the same.
const MAX_NEWEST: u64 = 4096;
/// What a cache keeps around an entry, in bytes.
const ENTRY_BYTES: usize = 256;

/// A text file of an origin; `None` where there is none.
pub type TextFile = Option<Arc<str>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    Llms,
    LlmsFull,
}

#[derive(Clone)]
struct Stored<T> {
    value: T,
    /// Bytes that the value takes in memory.
    bytes: usize,
    life: Duration,
}

/// How long what came of a fetch is kept. Where it was this service that had no room, or only one project's
/// share was used up, the next one asks again.
fn life(failed: bool, error: Option<&FetchError>) -> Duration {
    match error {
        Some(error) if error.sub == Some(SubKind::Busy) => Duration::ZERO,
        _ if failed => FAILURE_LIFE,
        _ => ANSWER_LIFE,
    }
}

impl<T> Stored<T> {
    /// What the entry of this origin costs.
    fn weight(&self, origin: &str) -> u32 {
        u32::try_from(self.bytes + origin.len() + ENTRY_BYTES).unwrap_or(u32::MAX)
    }
}

/// Whether a robots.txt that is kept does not do for who has met its failure and asks again.
fn is_old(stored: &Stored<Arc<RobotsAnswer>>, again: bool) -> bool {
    again && stored.value.robots.is_unreachable()
}

impl Stored<Arc<RobotsAnswer>> {
    fn of(answer: Arc<RobotsAnswer>) -> Self {
        Self {
            bytes: answer.held_bytes(),
            life: life(answer.robots.is_unreachable(), answer.error.as_ref()),
            value: answer,
        }
    }
}

struct Life;

impl<K, T> Expiry<K, Stored<T>> for Life {
    fn expire_after_create(&self, _: &K, stored: &Stored<T>, _: Instant) -> Option<Duration> {
        Some(stored.life)
    }

    fn expire_after_update(
        &self,
        key: &K,
        stored: &Stored<T>,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        self.expire_after_create(key, stored, now)
    }
}

/// The cache. Concurrent requests for one file fetch it once.
pub struct SiteFiles {
    robots: Cache<String, Stored<Arc<RobotsAnswer>>>,
    /// By origin and a digest of the user agent.
    robots_of_agents: Cache<(String, [u8; 32]), Stored<Arc<RobotsAnswer>>>,
    /// Of callers who send something of their own, or by a proxy.
    robots_of_callers: Cache<(String, Key), Stored<Arc<RobotsAnswer>>>,
    /// The newest answer of an origin to any agent, as long as one of the others keeps it.
    newest: Cache<String, Weak<RobotsAnswer>>,
    texts: Cache<TextKey, Stored<TextFile>>,
}

/// With the key of a caller who asks in a way of its own.
type TextKey = (String, Name, Option<Key>);

impl SiteFiles {
    pub(crate) fn new() -> Self {
        Self {
            robots: Cache::builder()
                .max_capacity(MAX_CACHED_BYTES)
                .weigher(|origin: &String, stored: &Stored<_>| stored.weight(origin))
                .expire_after(Life)
                .build(),
            robots_of_agents: Cache::builder()
                .max_capacity(MAX_AGENTS_BYTES)
                .weigher(|(origin, _): &(String, _), stored: &Stored<_>| stored.weight(origin))
                .expire_after(Life)
                .build(),
            robots_of_callers: Cache::builder()
                .max_capacity(MAX_CALLERS_BYTES)
                // The newest is always kept: a page is fetched right after its robots.txt, which it
                // would ask for again.
                .eviction_policy(EvictionPolicy::lru())
                .weigher(|(origin, _): &(String, _), stored: &Stored<_>| stored.weight(origin))
                .expire_after(Life)
                .build(),
            newest: Cache::builder()
                .max_capacity(MAX_NEWEST)
                .time_to_live(ANSWER_LIFE)
                .build(),
            texts: Cache::builder()
                .max_capacity(MAX_CACHED_BYTES)
                .weigher(|(origin, ..): &TextKey, stored: &Stored<_>| stored.weight(origin))
                .expire_after(Life)
                .build(),
        }
    }

    /// Bytes held, by kind of file. What was displaced or has expired is freed before: otherwise it
    /// would be held until the next use.
    #[crate::boxed]
    pub async fn held_bytes(&self) -> [(&'static str, u64); 4] {
        self.robots.run_pending_tasks().await;
        self.robots_of_agents.run_pending_tasks().await;
        self.robots_of_callers.run_pending_tasks().await;
        self.texts.run_pending_tasks().await;
        [
            ("robots", self.robots.weighted_size()),
            ("robots_of_agents", self.robots_of_agents.weighted_size()),
            ("robots_of_callers", self.robots_of_callers.weighted_size()),
            ("llms", self.texts.weighted_size()),
        ]
    }

    /// robots.txt of a URL's origin. If it cannot be fetched or its status is 429, everything
    /// is disallowed (RFC 9309), and it is requested again after a minute.
    #[crate::boxed]
    pub async fn robots(&self, fetcher: &Fetcher, url: &Url) -> Arc<RobotsAnswer> {
        let own = Personal::default();
        self.robots_for(fetcher, url, &own, false).await.answer
    }

    /// Like [`robots`](Self::robots), in the caller's own way. Its project alone gets the answer again, if
    /// it asks in the same way; that of a pool is for all. With `again`, a failure that is cached is no
    /// answer.
    #[crate::boxed]
    pub async fn robots_for(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        personal: &Personal,
        again: bool,
    ) -> RobotsRead {
        if !personal.is_empty() {
            return self
                .robots_of_caller(fetcher, url, None, personal, again)
                .await;
        }
        let origin = origin(url);
        let made = async {
            let known = self.newest(&origin).await;
            let made = fetch_robots(fetcher, &origin, None, personal, &known).await;
            self.note(&origin, &made).await;
            made
        };
        let entry = self.robots.entry(origin.clone());
        let entry = entry
            .or_insert_with_if(made, |stored| is_old(stored, again))
            .await;
        let alone = fetch_robots(fetcher, &origin, None, personal, &[]);
        settled(entry, alone).await
    }

    /// The robots.txt of a caller who sends something of its own, or by a proxy.
    #[crate::boxed]
    async fn robots_of_caller(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        agent: Option<&str>,
        personal: &Personal,
        again: bool,
    ) -> RobotsRead {
        let origin = origin(url);
        let key = (origin.clone(), personal.key(fetcher.project(), agent));
        let made = async {
            let known = self.newest(&origin).await;
            fetch_robots(fetcher, &origin, agent, personal, &known).await
        };
        let entry = self.robots_of_callers.entry(key);
        let entry = entry
            .or_insert_with_if(made, |stored| is_old(stored, again))
            .await;
        let alone = fetch_robots(fetcher, &origin, agent, personal, &[]);
        settled(entry, alone).await
    }

    /// As [`robots_for`](Self::robots_for), asked for with this user agent: some sites answer each
    /// crawler with a file of its own.
    #[crate::boxed]
    pub async fn robots_as(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        agent: &str,
        personal: &Personal,
    ) -> Arc<RobotsAnswer> {
        if !personal.is_empty() {
            let read = self.robots_of_caller(fetcher, url, Some(agent), personal, false);
            return read.await.answer;
        }
        let origin = origin(url);
        let key = (origin.clone(), Sha256::digest(agent).into());
        let made = async {
            let mut known = self.newest(&origin).await;
            known.extend(self.robots.get(&origin).await.map(|own| own.value));
            let made = fetch_robots(fetcher, &origin, Some(agent), personal, &known).await;
            self.note(&origin, &made).await;
            made
        };
        self.robots_of_agents.get_with(key, made).await.value
    }

    /// The newest answer of an origin to any agent.
    async fn newest(&self, origin: &str) -> Vec<Arc<RobotsAnswer>> {
        let newest = self.newest.get(origin).await;
        newest.and_then(|weak| weak.upgrade()).into_iter().collect()
    }

    /// Notes an origin's newest answer.
    async fn note(&self, origin: &str, made: &Stored<Arc<RobotsAnswer>>) {
        let newest = Arc::downgrade(&made.value);
        self.newest.insert(origin.to_owned(), newest).await;
    }

    /// llms.txt of a URL's origin, in the caller's own way, as [`robots_for`](Self::robots_for) has it.
    #[crate::boxed]
    pub async fn llms_txt_for(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        personal: &Personal,
    ) -> TextFile {
        self.text(fetcher, url, Name::Llms, personal).await
    }

    /// llms-full.txt of a URL's origin, in the caller's own way.
    #[crate::boxed]
    pub async fn llms_full_txt_for(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        personal: &Personal,
    ) -> TextFile {
        self.text(fetcher, url, Name::LlmsFull, personal).await
    }

    /// Whether llms.txt is known and will not be requested, for who asks in a caller's way.
    pub fn has_llms_txt_for(&self, fetcher: &Fetcher, url: &Url, personal: &Personal) -> bool {
        let key = text_key(fetcher, url, Name::Llms, personal);
        self.texts.contains_key(&key)
    }

    /// Whether llms-full.txt is known and will not be requested, for who asks in a caller's way.
    pub fn has_llms_full_txt_for(&self, fetcher: &Fetcher, url: &Url, personal: &Personal) -> bool {
        let key = text_key(fetcher, url, Name::LlmsFull, personal);
        self.texts.contains_key(&key)
    }

    async fn text(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        name: Name,
        personal: &Personal,
    ) -> TextFile {
        let key = text_key(fetcher, url, name, personal);
        let made = fetch_text(fetcher, key.0.clone(), name, personal);
        self.texts.get_with(key, made).await.value
    }
}

fn text_key(fetcher: &Fetcher, url: &Url, name: Name, personal: &Personal) -> TextKey {
    let is_own = !personal.is_empty();
    let own = is_own.then(|| personal.key(fetcher.project(), None));
    (origin(url), name, own)
}

/// What a cache has, or what is asked for `alone`: the entry may be of one for whom there was no room in its
/// project's share, and this one's is another.
async fn settled<K>(
    entry: Entry<K, Stored<Arc<RobotsAnswer>>>,
    alone: impl Future<Output = Stored<Arc<RobotsAnswer>>>,
) -> RobotsRead {
    let is_fresh = entry.is_fresh();
    let answer = entry.into_value().value;
    if is_fresh || !answer.is_busy() {
        return RobotsRead { answer, is_fresh };
    }
    RobotsRead {
        answer: alone.await.value,
        is_fresh: true,
    }
}

/// Scheme, host and port: the scope of a robots.txt (RFC 9309, 2.3).
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
