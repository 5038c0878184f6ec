//! What an origin's robots.txt says, or why there is none.

use std::fmt;
use std::sync::Arc;

use orbweaver_core::charset;
use orbweaver_core::content;
use orbweaver_core::robots::{Robots, Rules};
use orbweaver_core::user_agent::PRODUCT_TOKEN;
use url::Url;

use crate::error::{FetchError, Kind, SubKind};

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
    /// The host cannot be reached (DNS, connection, TLS, time-out, the proxy to it): its failure is the
    /// cause, whatever file is requested.
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
    pub(super) fn is_busy(&self) -> bool {
        let sub = self.error.as_ref().and_then(|error| error.sub);
        sub == Some(SubKind::Busy)
    }

    /// Reads a response's body; no status stands for no response.
    pub(super) fn read(status: Option<u16>, body: &[u8], error: Option<FetchError>) -> Self {
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
    pub(super) fn is_of(
        &self,
        status: Option<u16>,
        body: &[u8],
        error: Option<&FetchError>,
    ) -> bool {
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
        Kind::Dns | Kind::Connect | Kind::Tls | Kind::Timeout | Kind::Proxy | Kind::InvalidRequest
    );
    kinds && error.redirects.is_empty()
}
