//! Typed failures.

use std::fmt;

use orbweaver_core::guard::Refusal;

use crate::response::Hop;

/// What kind of failure ended a fetch. The words are stable: they are in answers, logs
/// and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The guard refuses the URL or an address behind it; sub-kind is the rule.
    Refused,
    /// robots.txt disallows it; sub-kinds `disallowed`, `unreachable`.
    Robots,
    /// The caller's own check refuses a URL on the way.
    Scope,
    /// The request itself is malformed: a header, the proxy.
    InvalidRequest,
    /// The name does not resolve; sub-kinds `nxdomain`, `servfail`, `timeout`, `other`.
    Dns,
    /// No connection; sub-kinds `refused`, `reset`, `unreachable`, `timeout`, `other`.
    Connect,
    /// The TLS handshake failed; sub-kinds `expired`, `not_yet_valid`, `wrong_host`, `untrusted`,
    /// `revoked`, `bad_certificate`, `version`, `handshake`.
    Tls,
    /// The proxy failed or refused; sub-kinds `auth`, `other`.
    Proxy,
    /// Too late; sub-kinds `first_byte`, `total`.
    Timeout,
    /// The body came slower than the minimum rate.
    Slow,
    /// The body is larger than the limit.
    TooLarge,
    /// Too many response headers, or too large.
    HeaderTooLarge,
    /// The connection ended before the body did.
    IncompleteBody,
    /// The content coding; sub-kinds `unknown_coding`, `too_many_codings`, `malformed`.
    Decode,
    /// Sub-kinds `no_location`, `ambiguous_location`, `invalid_location`, `too_many`.
    BadRedirect,
    /// What came is not HTTP, or breaks its rules.
    Protocol,
    /// The connection broke after the request was sent.
    Reset,
    /// The browser; sub-kinds `unavailable`, `busy`, `crashed`, `protocol`.
    Browser,
    /// A fault of ours.
    Internal,
}

impl Kind {
    /// The stable word.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Robots => "robots",
            Self::Scope => "scope",
            Self::InvalidRequest => "invalid_request",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Proxy => "proxy",
            Self::Timeout => "timeout",
            Self::Slow => "slow",
            Self::TooLarge => "too_large",
            Self::HeaderTooLarge => "header_too_large",
            Self::IncompleteBody => "incomplete_body",
            Self::Decode => "decode",
            Self::BadRedirect => "bad_redirect",
            Self::Protocol => "protocol",
            Self::Reset => "reset",
            Self::Browser => "browser",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A fetch that gave no response.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// What kind of failure.
    pub kind: Kind,
    /// The kind's finer word, where it has one.
    pub sub: Option<&'static str>,
    /// For people: what happened, and at which limit.
    pub message: String,
    /// The URL that failed, which after redirects is not the one asked for.
    pub url: String,
    /// Whether the same request may succeed later: time-outs, resets and servers' faults,
    /// not refusals, certificates or names that do not exist.
    pub retryable: bool,
    /// The redirects followed before.
    pub redirects: Vec<Hop>,
}

/// A failure without its place; the fetch loop adds URL and redirects.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub kind: Kind,
    pub sub: Option<&'static str>,
    pub message: String,
    pub retryable: bool,
    /// The exchange failed in a way that another connection may not: a keep-alive race, a
    /// stream that the server reset.
    pub stale: bool,
}

impl Fault {
    pub fn new(
        kind: Kind,
        sub: impl Into<Option<&'static str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            sub: sub.into(),
            message: message.into(),
            retryable: false,
            stale: false,
        }
    }

    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    pub fn stale(mut self) -> Self {
        self.retryable = true;
        self.stale = true;
        self
    }

    pub fn at(self, url: &str, redirects: Vec<Hop>) -> FetchError {
        FetchError {
            kind: self.kind,
            sub: self.sub,
            message: self.message,
            url: url.to_owned(),
            retryable: self.retryable,
            redirects,
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::new(Kind::Refused, refusal.code(), refusal.to_string())
    }
}
