//! robots.txt, llms.txt and llms-full.txt, cached per origin.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use moka::Expiry;
use moka::future::Cache;
use orbweaver_core::charset;
use orbweaver_core::content;
use orbweaver_core::limits::MAX_ROBOTS_BYTES;
use orbweaver_core::robots::{Robots, Rules};
use orbweaver_core::user_agent::PRODUCT_TOKEN;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use url::Url;

use crate::error::{FetchError, Kind, SubKind};
// The two modules depend on each other: the fetcher that obeys robots.txt also fetches it.
use crate::fetcher::Fetcher;
use crate::request::{Oversize, Request};

/// How long an answer is cached: the API's documented hour, within RFC 9309's limit of a day.
const ANSWER_LIFE: Duration = Duration::from_secs(3600);
/// How long a failure is cached.
const FAILURE_LIFE: Duration = Duration::from_secs(60);
/// Most redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2).
const ROBOTS_REDIRECTS: u32 = 5;
/// Memory for robots.txt that were asked for with our own user agents, with their rules; and
/// for the other texts.
const MAX_CACHED_BYTES: u64 = 64 << 20;
/// Memory for robots.txt that were asked for with user agents of callers, who may name any
/// number of them: apart, so that nobody's agents displace what crawls need.
const MAX_AGENTS_BYTES: u64 = 16 << 20;
/// Origins whose newest robots.txt is remembered, to be shared by agents that get the same.
const MAX_NEWEST: u64 = 4096;
/// What a cache keeps around an entry, in bytes.
const ENTRY_BYTES: usize = 256;
/// Bytes of a Retry-After that is kept.
const MAX_WAIT_BYTES: usize = 64;
/// Bytes of an llms.txt or llms-full.txt that are kept.
const MAX_LLMS_BYTES: u64 = 2 << 20;
/// Largest robots.txt that is parsed on the async thread, in bytes: less than a millisecond of work.
const INLINE_BYTES: usize = 16 << 10;
/// Bounds the robots.txt that are parsed at once, on threads of their own.
static PARSES: Semaphore = Semaphore::const_new(2);
/// Time limit for such a file; a page's own fetch waits for it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An origin's robots.txt, or why there is none.
#[derive(Clone, Debug)]
pub struct RobotsAnswer {
    /// The text; `None` where there is none.
    pub text: Option<String>,
    /// Status of the response; `None` without a response.
    pub status: Option<u16>,
    /// The parsed file.
    pub robots: Robots,
    /// The rules for this crawler.
    pub rules: Rules,
    /// Why there was no usable response, such as too many redirects.
    pub error: Option<FetchError>,
    /// Retry-After of a server that is overloaded (429, 503), as it was sent.
    pub retry_after: Option<String>,
}

/// A robots.txt, and how it was had.
#[derive(Clone, Debug)]
pub struct RobotsRead {
    /// What it says.
    pub answer: Arc<RobotsAnswer>,
    /// Whether it was requested for this; else the answer is of an earlier or another request.
    pub is_fresh: bool,
}

/// What an origin's robots.txt says about a URL.
#[derive(Clone, Copy, Debug)]
pub enum RobotsVerdict<'a> {
    /// The URL may be fetched.
    Allowed,
    /// A rule of the file disallows the URL.
    Disallowed,
    /// The file is unavailable, which disallows everything (RFC 9309, section 2.3.1.4).
    Unavailable(RobotsFailure<'a>),
}

/// Why a robots.txt is unavailable.
#[derive(Clone, Copy, Debug)]
pub enum RobotsFailure<'a> {
    /// The host cannot be reached (DNS, connection, TLS, time-out): its failure is the cause,
    /// whatever file is requested.
    Host(&'a FetchError),
    /// The file cannot be fetched, though its host responds.
    File(&'a FetchError),
    /// The server's error status: 5xx or 429.
    Status(u16),
}

impl fmt::Display for RobotsFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) | Self::File(error) => error.fmt(f),
            Self::Status(status) => write!(f, "the server answers {status}"),
        }
    }
}

impl RobotsAnswer {
    /// Of no response, for a reason of which nothing is known: everything is disallowed.
    pub fn unanswered() -> Self {
        Self::read(None, &[], None)
    }

    /// Whether the file is unavailable for a reason that may pass: 429, 5xx, or a failure after which
    /// another try makes sense.
    pub fn may_pass(&self) -> bool {
        let failure = self.error.as_ref().map(|error| error.retryable);
        self.robots.is_unreachable() && failure.unwrap_or(self.status.is_some())
    }

    /// Whether there was no room for the request, or none in its project's share.
    fn is_busy(&self) -> bool {
        let sub = self.error.as_ref().and_then(|error| error.sub);
        sub == Some(SubKind::Busy)
    }

    /// Reads a response's body; no status stands for no response.
    fn read(status: Option<u16>, body: &[u8], error: Option<FetchError>) -> Self {
        let found = status.is_some_and(|status| (200..300).contains(&status));
        // An HTML page sent for every path is not a robots.txt, whatever lines it contains.
        let is_page = found && content::looks_like_html(content::after_comments(body));
        let robots = Robots::from_answer(status, if is_page { b"" } else { body });
        let text = (found && !is_page).then(|| {
            charset::decode(
                body,
                Some("text/plain; charset=utf-8"),
                charset::Limits::default(),
            )
            .text
            .into_owned()
        });
        Self {
            text,
            status,
            rules: robots.rules_for(PRODUCT_TOKEN),
            robots,
            error,
            retry_after: None,
        }
    }

    /// Whether a response says the same.
    fn is_of(&self, status: Option<u16>, body: &[u8], error: Option<&FetchError>) -> bool {
        let text = self.text.as_ref().map(String::as_bytes);
        let is_same = self.status == status && text == Some(body);
        error.is_none() && self.retry_after.is_none() && is_same
    }

    /// Bytes that this takes in memory, its rules included.
    pub fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + self.text.as_ref().map_or(0, String::len)
            + self.robots.held_bytes()
            + self.rules.held_bytes()
    }

    /// What it says of a URL of its origin, to this crawler.
    pub fn verdict(&self, url: &Url) -> RobotsVerdict<'_> {
        if self.rules.allows_url(url) {
            return RobotsVerdict::Allowed;
        }
        if !self.robots.is_unreachable() {
            return RobotsVerdict::Disallowed;
        }
        RobotsVerdict::Unavailable(match &self.error {
            Some(error) if is_of_host(error) => RobotsFailure::Host(error),
            Some(error) => RobotsFailure::File(error),
            None => RobotsFailure::Status(self.status.unwrap_or_default()),
        })
    }
}

/// Whether a fetch failed before its host responded at all, even with a redirect.
fn is_of_host(error: &FetchError) -> bool {
    let kinds = matches!(
        error.kind,
        Kind::Dns | Kind::Connect | Kind::Tls | Kind::Timeout
    );
    kinds && error.redirects.is_empty()
}

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

/// What a caller sends with requests of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Personal {
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Cookies: `k=v; k=v`.
    pub cookies: Option<String>,
}

impl Personal {
    /// Whether there is nothing: the answer is the same for everybody.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.cookies.is_none()
    }

    /// A request that sends this, too.
    fn on(&self, mut request: Request) -> Request {
        let is_given = |name: &str| {
            let mut given = self.headers.iter();
            given.any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        request.headers.retain(|(name, _)| !is_given(name));
        request.headers.extend(self.headers.iter().cloned());
        request.cookies = self.cookies.clone();
        request
    }
}

/// The cache. Concurrent requests for one file fetch it once.
pub struct SiteFiles {
    robots: Cache<String, Stored<Arc<RobotsAnswer>>>,
    /// By origin and a digest of the user agent.
    robots_of_agents: Cache<(String, [u8; 32]), Stored<Arc<RobotsAnswer>>>,
    /// The newest answer of an origin to any agent, as long as one of the others keeps it.
    newest: Cache<String, Weak<RobotsAnswer>>,
    texts: Cache<(String, Name), Stored<TextFile>>,
}

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
            newest: Cache::builder()
                .max_capacity(MAX_NEWEST)
                .time_to_live(ANSWER_LIFE)
                .build(),
            texts: Cache::builder()
                .max_capacity(MAX_CACHED_BYTES)
                .weigher(|(origin, _): &(String, _), stored: &Stored<_>| stored.weight(origin))
                .expire_after(Life)
                .build(),
        }
    }

    /// Bytes held, by kind of file. What was displaced or has expired is freed before: otherwise it
    /// would be held until the next use.
    #[crate::boxed]
    pub async fn held_bytes(&self) -> [(&'static str, u64); 3] {
        self.robots.run_pending_tasks().await;
        self.robots_of_agents.run_pending_tasks().await;
        self.texts.run_pending_tasks().await;
        [
            ("robots", self.robots.weighted_size()),
            ("robots_of_agents", self.robots_of_agents.weighted_size()),
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

    /// Like [`robots`](Self::robots), with the caller's own headers. The answer is not cached, so no
    /// other caller gets it. With `again`, a failure that is cached is no answer.
    #[crate::boxed]
    pub async fn robots_for(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        personal: &Personal,
        again: bool,
    ) -> RobotsRead {
        let origin = origin(url);
        if !personal.is_empty() {
            let known = self.newest(&origin).await;
            let made = fetch_robots(fetcher, &origin, None, personal, &known).await;
            return RobotsRead {
                answer: made.value,
                is_fresh: true,
            };
        }
        let made = async {
            let known = self.newest(&origin).await;
            let made = fetch_robots(fetcher, &origin, None, personal, &known).await;
            self.note(&origin, &made).await;
            made
        };
        let is_old =
            |stored: &Stored<Arc<RobotsAnswer>>| again && stored.value.robots.is_unreachable();
        let entry = self.robots.entry(origin.clone());
        let entry = entry.or_insert_with_if(made, is_old).await;
        if !entry.is_fresh() && entry.value().value.is_busy() {
            // Another project's share is used up; this one's may not be.
            let made = fetch_robots(fetcher, &origin, None, personal, &[]).await;
            return RobotsRead {
                answer: made.value,
                is_fresh: true,
            };
        }
        RobotsRead {
            is_fresh: entry.is_fresh(),
            answer: entry.into_value().value,
        }
    }

    /// As [`robots`](Self::robots), asked for with this user agent: some sites answer each
    /// crawler with a file of its own.
    #[crate::boxed]
    pub async fn robots_as(&self, fetcher: &Fetcher, url: &Url, agent: &str) -> Arc<RobotsAnswer> {
        let origin = origin(url);
        let key = (origin.clone(), Sha256::digest(agent).into());
        let made = async {
            let mut known = self.newest(&origin).await;
            known.extend(self.robots.get(&origin).await.map(|own| own.value));
            let own = Personal::default();
            let made = fetch_robots(fetcher, &origin, Some(agent), &own, &known).await;
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

    /// llms.txt of a URL's origin.
    #[crate::boxed]
    pub async fn llms_txt(&self, fetcher: &Fetcher, url: &Url) -> TextFile {
        self.llms_txt_for(fetcher, url, &Personal::default()).await
    }

    /// Like [`llms_txt`](Self::llms_txt), with the caller's own headers. The answer is not cached, so
    /// no other caller gets it.
    #[crate::boxed]
    pub async fn llms_txt_for(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        personal: &Personal,
    ) -> TextFile {
        self.text(fetcher, url, Name::Llms, personal).await
    }

    /// llms-full.txt of a URL's origin.
    #[crate::boxed]
    pub async fn llms_full_txt(&self, fetcher: &Fetcher, url: &Url) -> TextFile {
        let own = Personal::default();
        self.llms_full_txt_for(fetcher, url, &own).await
    }

    /// Like [`llms_full_txt`](Self::llms_full_txt), with the caller's own headers. The answer is not
    /// cached, so no other caller gets it.
    #[crate::boxed]
    pub async fn llms_full_txt_for(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        personal: &Personal,
    ) -> TextFile {
        self.text(fetcher, url, Name::LlmsFull, personal).await
    }

    /// Whether llms.txt is known and will not be requested, for whom asks with what a caller sends.
    pub fn has_llms_txt_for(&self, url: &Url, personal: &Personal) -> bool {
        self.has_text(url, Name::Llms, personal)
    }

    /// Whether llms-full.txt is known and will not be requested, for whom asks with what a caller
    /// sends.
    pub fn has_llms_full_txt_for(&self, url: &Url, personal: &Personal) -> bool {
        self.has_text(url, Name::LlmsFull, personal)
    }

    fn has_text(&self, url: &Url, name: Name, personal: &Personal) -> bool {
        personal.is_empty() && self.texts.contains_key(&(origin(url), name))
    }

    async fn text(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        name: Name,
        personal: &Personal,
    ) -> TextFile {
        let origin = origin(url);
        let key = (origin.clone(), name);
        let made = fetch_text(fetcher, origin, name, personal);
        match personal.is_empty() {
            true => self.texts.get_with(key, made).await.value,
            false => made.await.value,
        }
    }
}

/// Scheme, host and port: the scope of a robots.txt (RFC 9309, 2.3).
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn request(origin: &str, path: &str, max_bytes: u64) -> Request {
    Request {
        headers: vec![("accept".into(), "text/plain, */*;q=0.5".into())],
        user_agent: None,
        timeout: Some(TIMEOUT),
        max_bytes: Some(max_bytes),
        oversize: Oversize::Truncate,
        ..Request::get(format!("{origin}{path}"))
    }
}

/// `known`: answers to other agents, of which one is shared if this agent gets the same.
async fn fetch_robots(
    fetcher: &Fetcher,
    origin: &str,
    agent: Option<&str>,
    personal: &Personal,
    known: &[Arc<RobotsAnswer>],
) -> Stored<Arc<RobotsAnswer>> {
    // One byte more than the parser reads, so that it sees that the file was cut.
    let request = Request {
        user_agent: agent.map(str::to_owned),
        max_redirects: Some(ROBOTS_REDIRECTS),
        ..request(origin, "/robots.txt", MAX_ROBOTS_BYTES as u64 + 1)
    };
    let result = Box::pin(fetcher.fetch(personal.on(request))).await;
    let mut wait = None;
    let (status, body, error) = match result {
        Ok(response) => {
            let asked = response.headers.get("retry-after");
            let asked = asked.filter(|_| matches!(response.status, 429 | 503));
            wait = asked
                .filter(|value| value.len() <= MAX_WAIT_BYTES)
                .map(str::to_owned);
            (Some(response.status), response.body, None)
        }
        // Too many redirects: treated as if there were no file (RFC 9309, 2.3.1.2).
        Err(error) if error.kind == Kind::BadRedirect => (Some(404), Bytes::new(), Some(error)),
        Err(error) => (None, Bytes::new(), Some(error)),
    };
    let size = body.len();
    let mut known = known.iter();
    if let Some(known) = known.find(|known| known.is_of(status, &body, error.as_ref())) {
        return Stored::of(Arc::clone(known));
    }
    let read = move || {
        Stored::of(Arc::new(RobotsAnswer {
            retry_after: wait,
            ..RobotsAnswer::read(status, &body, error)
        }))
    };
    if size <= INLINE_BYTES {
        return read();
    }
    // The longest file takes milliseconds, and callers may ask for it as any number of agents.
    let _turn = PARSES.acquire().await;
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| {
        tracing::error!(%error, origin, "cannot parse a robots.txt");
        Stored::of(Arc::new(RobotsAnswer::unanswered()))
    })
}

async fn fetch_text(
    fetcher: &Fetcher,
    origin: String,
    name: Name,
    personal: &Personal,
) -> Stored<TextFile> {
    let path = match name {
        Name::Llms => "/llms.txt",
        Name::LlmsFull => "/llms-full.txt",
    };
    let request = personal.on(request(&origin, path, MAX_LLMS_BYTES));
    let result = Box::pin(fetcher.fetch(request)).await;
    let failed = result
        .as_ref()
        .map_or(true, |response| response.status >= 500);
    let life = life(failed, result.as_ref().err());
    let text = result
        .ok()
        .filter(|response| response.status == 200)
        .and_then(|response| {
            let kind = content::sniff(response.content_type(), &response.body).kind;
            // Sites that send an HTML page for every path have no llms.txt.
            if kind != content::Kind::Text || content::looks_like_html(&response.body) {
                return None;
            }
            let decoded = charset::decode(
                &response.body,
                response.content_type(),
                charset::Limits::default(),
            );
            Some(Arc::<str>::from(decoded.text.as_ref()))
        });
    Stored {
        bytes: text.as_ref().map_or(0, |text| text.len()),
        value: text,
        life,
    }
}
