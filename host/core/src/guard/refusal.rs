//! Why something may not be fetched, and the host that is judged.

use std::fmt;
use std::net::IpAddr;

/// The rule that a refused URL or address breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Not a URL by the WHATWG standard, or one without a host.
    InvalidUrl,
    /// Parsers by RFC 3986 and by the WHATWG standard read it differently.
    AmbiguousUrl,
    /// Longer than [`MAX_URL_BYTES`](crate::limits::MAX_URL_BYTES).
    UrlTooLong,
    /// Neither http nor https.
    Scheme,
    /// A user name or password before the host.
    Credentials,
    /// A port that belongs to another protocol.
    Port,
    /// A name that by its form is not on the public internet.
    Name,
    /// An address that is not on the public internet.
    Address,
    /// A name without a single address.
    NoAddress,
    /// A host of the blocklist.
    Listed,
}

impl Rule {
    /// A stable word for logs, metrics and clients.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUrl => "invalid_url",
            Self::AmbiguousUrl => "ambiguous_url",
            Self::UrlTooLong => "url_too_long",
            Self::Scheme => "scheme_not_allowed",
            Self::Credentials => "credentials_in_url",
            Self::Port => "port_not_allowed",
            Self::Name => "name_not_public",
            Self::Address => "address_not_public",
            Self::NoAddress => "no_address",
            Self::Listed => "host_blocklisted",
        }
    }

    /// Whether `allow_nets` can open what this rule refuses.
    pub const fn is_private_network(self) -> bool {
        matches!(self, Self::Name | Self::Address)
    }
}

/// Why something may not be fetched. The message names the rule and never repeats
/// credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The broken rule.
    pub rule: Rule,
    message: String,
}

impl Refusal {
    pub(super) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }
}

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A literal address, already judged.
    Ip(IpAddr),
    /// A name in its ASCII form, without a trailing dot; its addresses are still to be judged.
    Name(String),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}
