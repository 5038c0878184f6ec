//! Typed failures.

use std::fmt;

use orbweaver_core::guard::{Refusal, Rule};

use crate::response::Hop;

/// The kind of failure that ended a fetch. The names are stable: answers, stored rows, logs
/// and metrics contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The guard refuses the URL or one of its addresses; the sub-kind is the [`Rule`].
    Refused,
    /// robots.txt disallows the URL, or the file is unavailable while its host answers.
    Robots,
    /// The caller's own check refuses a redirect target.
    Scope,
    /// The request itself is malformed: a header, the proxy.
    InvalidRequest,
    /// The name does not resolve.
    Dns,
    /// The connection could not be established.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The proxy failed or refused.
    Proxy,
    /// A time limit passed.
    Timeout,
    /// The body arrived more slowly than the minimum rate.
    Slow,
    /// The body is larger than the limit.
    TooLarge,
    /// Too many response headers, or too large ones.
    HeaderTooLarge,
    /// The connection ended before the body did.
    IncompleteBody,
    /// The content coding is unknown or broken.
    Decode,
    /// A redirect that can't be followed.
    BadRedirect,
    /// The response is not HTTP, or breaks its rules.
    Protocol,
    /// The connection broke after the request was sent.
    Reset,
    /// The browser failed or is not available.
    Browser,
    /// An internal error of this service.
    Internal,
}

/// The cause within a [`Kind`]. The names are stable, like those of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubKind {
    /// [`Kind::Refused`]: the guard's rule.
    Rule(Rule),
    /// [`Kind::Robots`]: a rule of the file.
    Disallowed,
    /// [`Kind::Robots`]: the file is unavailable. [`Kind::Connect`]: no route.
    Unreachable,
    /// [`Kind::Dns`]: the name does not exist.
    NxDomain,
    /// [`Kind::Dns`]: the name's servers failed.
    ServFail,
    /// [`Kind::Dns`] and [`Kind::Connect`]: time-out.
    Timeout,
    /// [`Kind::Connect`]: the server refuses connections.
    Refused,
    /// [`Kind::Connect`]: the server reset the connection.
    Reset,
    /// [`Kind::InvalidRequest`]: a field of the caller's request; the message begins with its
    /// path: `actions[2].selector: matches no element …`.
    Field,
    /// [`Kind::Tls`]: the certificate has expired.
    Expired,
    /// [`Kind::Tls`]: the certificate is not valid yet.
    NotYetValid,
    /// [`Kind::Tls`]: the certificate is for another host.
    WrongHost,
    /// [`Kind::Tls`]: the certificate's issuer is unknown.
    Untrusted,
    /// [`Kind::Tls`]: the certificate is revoked.
    Revoked,
    /// [`Kind::Tls`]: the certificate is invalid in another way.
    BadCertificate,
    /// [`Kind::Tls`]: no common version or cipher suite.
    Version,
    /// [`Kind::Tls`]: the handshake failed in another way.
    Handshake,
    /// [`Kind::Proxy`]: the proxy refuses the credentials.
    Auth,
    /// [`Kind::Timeout`]: no response headers in time.
    FirstByte,
    /// [`Kind::Timeout`]: the fetch as a whole took too long.
    Total,
    /// [`Kind::Decode`]: the content coding is not supported.
    UnknownCoding,
    /// [`Kind::Decode`]: more nested codings than are supported.
    TooManyCodings,
    /// [`Kind::Decode`]: a broken stream. [`Kind::Protocol`]: not HTTP.
    Malformed,
    /// [`Kind::BadRedirect`]: no Location.
    NoLocation,
    /// [`Kind::BadRedirect`]: several Locations.
    AmbiguousLocation,
    /// [`Kind::BadRedirect`]: the Location is not a URL.
    InvalidLocation,
    /// [`Kind::BadRedirect`]: more redirects than are followed.
    TooMany,
    /// [`Kind::Protocol`]: 304 to a request without validators.
    NotModified,
    /// [`Kind::Protocol`]: the message's length is ambiguous.
    Framing,
    /// [`Kind::Protocol`]: the server sends without end what is no content, such as interim responses.
    Flood,
    /// [`Kind::Protocol`] and [`Kind::Reset`]: an error of HTTP/2.
    Http2,
    /// [`Kind::Reset`]: closed before the response.
    Closed,
    /// [`Kind::Reset`]: within the body.
    Body,
    /// [`Kind::Browser`]: no browser is installed, or it does not start.
    Unavailable,
    /// [`Kind::Browser`]: too many pages wait. [`Kind::Dns`]: too many lookups of the project.
    Busy,
    /// [`Kind::Browser`]: the browser or the page's process ended.
    Crashed,
    /// [`Kind::TooLarge`]: the page takes more memory in the browser than it may.
    Memory,
    /// [`Kind::Browser`]: an unexpected answer of the browser.
    Protocol,
    /// Any other cause.
    Other,
}

impl SubKind {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.as_str(),
            Self::NxDomain => "nxdomain",
            Self::ServFail => "servfail",
            Self::Timeout => "timeout",
            Self::Other => "other",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Unreachable => "unreachable",
            Self::Field => "field",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::WrongHost => "wrong_host",
            Self::Untrusted => "untrusted",
            Self::Revoked => "revoked",
            Self::BadCertificate => "bad_certificate",
            Self::Version => "version",
            Self::Handshake => "handshake",
            Self::Auth => "auth",
            Self::FirstByte => "first_byte",
            Self::Total => "total",
            Self::UnknownCoding => "unknown_coding",
            Self::TooManyCodings => "too_many_codings",
            Self::Malformed => "malformed",
            Self::NoLocation => "no_location",
            Self::AmbiguousLocation => "ambiguous_location",
            Self::InvalidLocation => "invalid_location",
            Self::TooMany => "too_many",
            Self::Unavailable => "unavailable",
            Self::Busy => "busy",
            Self::Crashed => "crashed",
            Self::Memory => "memory",
            Self::Protocol => "protocol",
            Self::NotModified => "not_modified",
            Self::Framing => "framing",
            Self::Flood => "flood",
            Self::Http2 => "http2",
            Self::Closed => "closed",
            Self::Body => "body",
            Self::Disallowed => "disallowed",
        }
    }
}

impl fmt::Display for SubKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Kind {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
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
        f.write_str(self.as_str())
    }
}

/// A fetch that failed without a response.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// The kind of failure.
    pub kind: Kind,
    /// The cause within the kind, where one is known.
    pub sub: Option<SubKind>,
    /// Message for people: what happened, and at which limit.
    pub message: String,
    /// The URL that failed; after redirects it differs from the requested one.
    pub url: String,
    /// Whether the same request may succeed later: true for time-outs, resets and server errors,
    /// false for refusals, certificates and names that do not exist.
    pub retryable: bool,
    /// The redirects followed before the failure.
    pub redirects: Vec<Hop>,
    /// Bytes of bodies that had arrived, as received.
    pub wire_bytes: u64,
}

/// A failure without URL and redirects, which the fetch loop adds.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub kind: Kind,
    pub sub: Option<SubKind>,
    pub message: String,
    pub retryable: bool,
    /// Whether another connection may succeed: a keep-alive race, a stream that the server reset, the
    /// rest of an earlier response, or what another request on a shared connection has caused.
    pub stale: bool,
}

impl Fault {
    pub fn new(kind: Kind, sub: impl Into<Option<SubKind>>, message: impl Into<String>) -> Self {
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

    /// A new connection may answer at once; a later attempt will do no better.
    pub fn stale_only(mut self) -> Self {
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
            wire_bytes: 0,
        }
    }
}

impl From<&FetchError> for Fault {
    fn from(error: &FetchError) -> Self {
        Self {
            kind: error.kind,
            sub: error.sub,
            message: error.message.clone(),
            retryable: error.retryable,
            stale: false,
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::new(
            Kind::Refused,
            SubKind::Rule(refusal.rule),
            refusal.to_string(),
        )
    }
}
