//! Hooks: what a crawl follows and stores.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Header, Json, Page};

/// A hook of crawls. The manifest lists the functions that it implements
/// (`hooks = ["discover", "record"]`); the host calls no others. Export it with
/// [`hook!`](crate::hook!).
///
/// An instance serves one page, or one request, and is then dropped. What is to be kept from page to
/// page goes into [`state`](crate::state), with the permission `state`. For a page the host calls
/// `response`, `record`, `discover`, in this order.
pub trait Hook {
    /// The configuration that a crawl's request gives. The host has checked it against the
    /// manifest's input schema.
    type Config: DeserializeOwned;

    /// Judges the new links of a page, all at once: those in the crawl's scope that it does not know
    /// yet. A link that is skipped is given again with the next page that has it.
    fn discover(
        config: &Self::Config,
        visit: &Visit,
        page: &Page<'_>,
        links: &[FoundLink],
    ) -> Result<Discovery, Error> {
        let _ = (config, visit, page, links);
        Err(missing("discover"))
    }

    /// Says what is stored of a page.
    fn record(
        config: &Self::Config,
        visit: &Visit,
        page: &Page<'_>,
        made: &Made,
    ) -> Result<RecordVerdict, Error> {
        let _ = (config, visit, page, made);
        Err(missing("record"))
    }

    /// Changes a request before it is sent. Needs permission `http` for its URL; without it the host
    /// does not ask.
    fn request(config: &Self::Config, request: &Outgoing) -> Result<RequestChange, Error> {
        let _ = (config, request);
        Err(missing("request"))
    }

    /// Judges a response before anything is made of it.
    fn response(
        config: &Self::Config,
        visit: &Visit,
        page: &Page<'_>,
    ) -> Result<ResponseVerdict, Error> {
        let _ = (config, visit, page);
        Err(missing("response"))
    }
}

/// The crawl's run that the call is part of: the same number for all its pages, and one that no other run
/// has. `None` outside of a run, as in a test. Since version 1.1.0 of the interface.
pub fn run_id() -> Option<i64> {
    crate::host::crawl_run()
}

fn missing(function: &str) -> Error {
    Error::failed(format_args!(
        "`{function}` is in the manifest's `hooks`, but the plugin does not implement it"
    ))
}

/// Where a page stands in its crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// The URL that answered, after redirects.
    pub url: String,
    /// The HTTP status; 0 for a list of URLs that is no page, such as a sitemap.
    pub status: u16,
    /// Number of links from the seed, whose depth is 0.
    pub depth: u32,
    /// Number of earlier attempts at this URL.
    pub attempts: u32,
}

/// A link of a page: in the crawl's scope, and new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLink {
    /// Its target: absolute, http or https, without a fragment.
    pub url: String,
    /// Its visible text, white space collapsed.
    pub anchor: String,
    /// Its `rel`, as written.
    pub rel: String,
    /// Whether the page does not vouch for it.
    pub nofollow: bool,
}

/// A URL to fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedUrl {
    /// Absolute, http or https.
    pub url: String,
    /// URLs of higher priority are fetched first; the default is 0.
    pub priority: i32,
}

/// What becomes of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkVerdict {
    /// It is fetched, with this priority.
    Follow(i32),
    /// It is not fetched; says why, in one line.
    Skip(String),
    /// Another URL is fetched instead; it passes the crawl's checks like a link.
    Rewrite(WantedUrl),
}

/// What becomes of the links of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// One verdict for each link, in their order.
    pub verdicts: Vec<LinkVerdict>,
    /// Further URLs, at most 1,000; they pass the crawl's checks like links.
    pub added: Vec<WantedUrl>,
}

impl Discovery {
    /// Judges each link by itself.
    pub fn of_each(links: &[FoundLink], judge: impl FnMut(&FoundLink) -> LinkVerdict) -> Self {
        Self {
            verdicts: links.iter().map(judge).collect(),
            added: Vec::new(),
        }
    }
}

/// What was made of a page so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Outputs of the extractors that the crawl names: role and JSON text.
    pub outputs: Vec<(String, Json)>,
    /// Records of earlier hooks.
    pub records: Vec<Json>,
}

impl Made {
    /// The output of a role.
    pub fn output(&self, role: &str) -> Option<&str> {
        let found = self.outputs.iter().find(|(name, _)| name == role);
        found.map(|(_, data)| data.as_str())
    }
}

/// What is stored of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordVerdict {
    /// The page, with the records of earlier hooks.
    Keep,
    /// The page, with these records besides those of earlier hooks.
    Emit(Vec<Json>),
    /// The page, with these records in place of those of earlier hooks.
    Replace(Vec<Json>),
    /// Nothing; says why, in one line. The page's links are followed all the same.
    Drop(String),
}

impl RecordVerdict {
    /// The page with one record more.
    ///
    /// # Errors
    /// [`Code::Failed`](crate::Code::Failed): the record cannot be written as JSON.
    pub fn emit(record: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::Emit(vec![serde_json::to_string(record)?]))
    }
}

/// A request that is about to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Its URL.
    pub url: String,
    /// Number of links from the seed.
    pub depth: u32,
    /// Number of earlier attempts.
    pub attempts: u32,
}

/// What is added to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestChange {
    /// Headers; one of the crawl's of the same name is replaced. `cookie`, `user-agent` and names
    /// that the host controls are refused.
    pub headers: Vec<Header>,
    /// Cookies besides the crawl's: `k=v; k=v`.
    pub cookies: Option<String>,
    /// The user agent to send.
    pub user_agent: Option<String>,
}

/// What becomes of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseVerdict {
    /// It is used.
    Accept,
    /// It is fetched again later, as often as the crawl retries; then it is used.
    Retry {
        /// Milliseconds to wait at least.
        delay_ms: u32,
        /// Why, in one line.
        reason: String,
    },
    /// It is not stored; says why, in one line. Its links are followed all the same.
    Drop(String),
}

/// What a webhook's payload is about, for hooks of deliveries
/// ([`delivery_hook!`](crate::delivery_hook)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The event, such as `crawl.done`.
    pub event: String,
    /// The crawl run that ended.
    pub run_id: i64,
    /// Its seed as requested.
    pub run_url: String,
}
