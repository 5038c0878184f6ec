//! Hooks of crawls: what they are given, what they decide, and what a list of them makes of a page.
//!
//! A page passes the hooks that a crawl names one after the other. Each gets one new instance, in
//! which its functions are called in the order `response`, `record`, `discover`; what it decides is
//! the input of the next one (`verdict`). `run` takes a page through a list of hooks, `call` makes the
//! calls of one, on worker threads where it suits the pool. `outgoing` checks what one changes of a request.

pub(crate) mod call;
pub(crate) mod deliver;
mod outgoing;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod verdict;

use std::sync::Arc;
use std::time::Duration;

pub use deliver::Delivery;

use crate::error::PluginError;
use crate::manifest::HookPoint;
use crate::page::Page;

/// Most URLs that a hook adds to the links of one page.
pub(crate) const MAX_ADDED: usize = 1_000;
/// Longest URL that a hook may return, in bytes.
pub(crate) const MAX_URL_BYTES: usize = 16 << 10;
/// Most records of one page, of all hooks together.
pub(crate) const MAX_RECORDS: usize = 1_000;
/// Longest reason kept, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 300;
/// Most headers that a hook adds to one request.
pub(crate) const MAX_HEADERS: usize = 64;

/// A hook that a crawl names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookUse {
    /// Its name.
    pub name: String,
    /// Its configuration: a JSON object that satisfies its schema.
    pub config: Arc<str>,
}

/// A set of [`HookPoint`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookPoints(u8);

impl HookPoints {
    /// No point.
    pub const NONE: Self = Self(0);

    /// The set of these points.
    pub fn of(points: &[HookPoint]) -> Self {
        Self(points.iter().fold(0, |set, point| set | Self::bit(*point)))
    }

    /// Whether the set has this point.
    pub fn has(self, point: HookPoint) -> bool {
        self.0 & Self::bit(point) != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The points of both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The points of either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn bit(point: HookPoint) -> u8 {
        match point {
            HookPoint::Discover => 1,
            HookPoint::Record => 2,
            HookPoint::Request => 4,
            HookPoint::Response => 8,
            HookPoint::Deliver => 16,
        }
    }
}

/// The place of a page in its crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// The URL that answered, after redirects.
    pub url: String,
    /// HTTP status; 0 for a list of URLs that is no page.
    pub status: u16,
    /// Number of links from the seed.
    pub depth: u32,
    /// Number of earlier attempts at the URL.
    pub attempts: u32,
}

/// A link of a page: in the crawl's scope, and new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLink {
    /// Absolute URL without fragment.
    pub url: String,
    /// Its visible text.
    pub anchor: String,
    /// Its `rel`, as written.
    pub rel: String,
    /// Whether the page does not vouch for it.
    pub nofollow: bool,
}

/// A page on its way through the hooks of a crawl.
#[derive(Clone, Debug)]
pub struct PageWork {
    /// The page.
    pub page: Arc<Page>,
    /// Where it stands in its crawl.
    pub visit: Visit,
    /// The functions to call; `request` is not among them.
    pub points: HookPoints,
    /// Outputs of extractors: role and JSON text.
    pub outputs: Vec<(String, String)>,
    /// Its new links within the scope.
    pub links: Vec<FoundLink>,
    /// The longest wait before it is fetched again; `None` if it is not fetched again: a hook that asks for
    /// it then accepts the response.
    pub retry_within: Option<Duration>,
}

/// What the hooks of a crawl decide about a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageVerdict {
    /// The page's links in their order, then the added ones.
    pub links: Vec<JudgedLink>,
    /// Records to store with the page.
    pub records: Vec<HookRecord>,
    /// Whether the page is kept.
    pub fate: PageFate,
    /// Hooks that failed, in their order.
    pub failures: Vec<HookFailure>,
}

/// Whether a page is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PageFate {
    /// It is stored.
    #[default]
    Kept,
    /// It is fetched again after this many milliseconds.
    Retry(u32, HookReason),
    /// It is not stored.
    Dropped(HookReason),
}

/// A reason that a hook gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookReason {
    /// The hook's name.
    pub hook: String,
    /// One line, at most 300 bytes.
    pub reason: String,
}

/// A link after the hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgedLink {
    /// The URL to fetch, as the last hook wants it.
    pub url: String,
    /// URLs of higher priority are fetched first.
    pub priority: i32,
    /// Whether a hook wrote the URL, which must then be checked like a link.
    pub is_changed: bool,
    /// Why it is not fetched.
    pub skipped: Option<HookReason>,
}

/// A record that a hook makes of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRecord {
    /// The hook's name.
    pub hook: String,
    /// Validated JSON text.
    pub data: String,
}

/// A hook that failed on a page or a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFailure {
    /// Its name.
    pub hook: String,
    /// The function that failed.
    pub point: HookPoint,
    /// Why.
    pub error: PluginError,
}

/// What a hook adds to a request, within the rules (`outgoing`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestChange {
    /// Names and values of headers, at most 64; none that the host controls.
    pub headers: Vec<(String, String)>,
    /// Further cookies: `k=v; k=v`.
    pub cookies: Option<String>,
    /// The user agent to send.
    pub user_agent: Option<String>,
}

/// A URL that a hook wants to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedUrl {
    pub url: String,
    pub priority: i32,
}

/// A hook's answer for one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkVerdict {
    Follow(i32),
    Skip(String),
    Rewrite(WantedUrl),
}

/// A hook's answer for the links of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub verdicts: Vec<LinkVerdict>,
    pub added: Vec<WantedUrl>,
}

/// A hook's answer for the content of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordVerdict {
    Keep,
    Emit(Vec<String>),
    Replace(Vec<String>),
    Drop(String),
}

/// A wait that a hook asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetryLater {
    pub delay_ms: u32,
    pub reason: String,
}

/// A hook's answer for a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResponseVerdict {
    Accept,
    Retry(RetryLater),
    Drop(String),
}
