//! Why a target is refused, and the host that is checked.

use std::fmt;
use std::net::IpAddr;

/// The rule that a refused URL or address breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Not a URL by the WHATWG standard, or a URL without a host.
    InvalidUrl,
    /// Parsers by RFC 3986 and by the WHATWG standard would read it differently.
    AmbiguousUrl,
    /// Longer than [`MAX_URL_BYTES`](crate::limits::MAX_URL_BYTES).
    UrlTooLong,
    /// Neither http nor https.
    Scheme,
    /// It has a user name or password.
    Credentials,
    /// The port is reserved for another protocol.
    Port,
    /// The form of the name shows that it is not on the public internet.
    Name,
    /// An address that is not on the public internet.
    Address,
    /// The name has no address.
    NoAddress,
    /// The host is on the blocklist.
    Listed,
}

impl Rule {
    /// The stable name for logs, metrics and clients.
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

/// Why a target is refused. The message names the rule and never contains credentials.
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
    /// A literal address that was judged.
    Ip(IpAddr),
    /// A name in ASCII form, without a trailing dot; its addresses are not yet judged.
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
