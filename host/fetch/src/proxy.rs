//! Proxies: URLs that hide their credentials when shown, and pools.
//!
//! # Trust
//!
//! A proxy's own host and port are checked by the guard and the blocklist, whoever names the
//! proxy. Before a request is sent through it, the target's name is resolved and checked here.
//! What the proxy then connects to depends on its protocol:
//!
//! - SOCKS5 takes an address: the proxy gets a checked one, so DNS rebinding is impossible.
//! - HTTP takes a name and resolves it again. A plain request is sent with its whole URL,
//!   whose host a proxy must use as `Host` (RFC 9112, section 3.2.2), so an address there
//!   would lose the site's name. CONNECT could carry an address, but many proxies select exits
//!   or apply rules by name, so it carries the name too. A name server that answers us with a
//!   public address and the proxy with a private one reaches what the *proxy* can reach.
//!
//! For a proxy outside the operator's network that is no risk to the operator. A proxy inside
//! it (its address is allowed by `allow_nets`) must itself refuse private destinations.
//! `fetch.trust_http_proxies` is the operator's decision about that: `true`, the default, or
//! `false`, which refuses to send names through HTTP proxies.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orbweaver_core::guard::{Host, Rule, parse_strict};
use orbweaver_core::redact::MASKED;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;
use utoipa::ToSchema;

/// A kind of proxy, as named in the API.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ProxyPool {
    /// Data-centre addresses.
    Datacenter,
    /// Static addresses of access providers.
    Isp,
    /// Home connections.
    Residential,
    /// Mobile networks.
    Mobile,
}

impl ProxyPool {
    /// The name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Datacenter => "datacenter",
            Self::Isp => "isp",
            Self::Residential => "residential",
            Self::Mobile => "mobile",
        }
    }
}

/// A proxy's URL: scheme `http`, `https` or `socks5`, a host, optional user and password, which
/// `Debug` and `Display` omit. A pool's URL may contain `{country}` and `{session}`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProxyUrl(String);

impl ProxyUrl {
    /// The URL with its credentials: for connecting, never for logs.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its host. The URL standard parses IP addresses only for http and https; here they are
    /// parsed for every scheme.
    pub(crate) fn host(&self) -> Host {
        let text = Url::parse(&self.0)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default();
        match url::Host::parse(&text) {
            Ok(url::Host::Ipv4(ip)) => Host::Ip(ip.into()),
            Ok(url::Host::Ipv6(ip)) => Host::Ip(ip.into()),
            Ok(url::Host::Domain(name)) => Host::Name(name.trim_end_matches('.').to_owned()),
            Err(_) => Host::Name(text),
        }
    }

    /// Its port; the default is that of its scheme.
    pub(crate) fn port(&self) -> u16 {
        let url = Url::parse(&self.0).ok();
        let scheme_port = match url.as_ref().map(Url::scheme) {
            Some("https") => 443,
            Some("socks5") => 1080,
            _ => 80,
        };
        url.and_then(|url| url.port()).unwrap_or(scheme_port)
    }

    /// Its user and password.
    pub(crate) fn credentials(&self) -> Option<Credentials> {
        let url = Url::parse(&self.0).ok()?;
        let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
        let has_any = !url.username().is_empty() || url.password().is_some();
        has_any.then(|| Credentials {
            user: decoded(url.username()),
            password: decoded(url.password().unwrap_or_default()),
        })
    }

    /// Whether it is an HTTP proxy: it receives plain http requests directly, without a tunnel,
    /// and resolves the names of targets itself.
    pub(crate) fn resolves_names(&self) -> bool {
        !self.0.starts_with("socks5:")
    }

    /// Whether its URL has the `{country}` placeholder.
    pub(crate) fn takes_country(&self) -> bool {
        self.0.contains("{country}")
    }

    /// Fills a pool's placeholders. `country` must be two ASCII letters.
    pub(crate) fn filled(&self, country: Option<&str>, session: u64) -> Result<Self, InvalidProxy> {
        let country = country.unwrap_or("").to_ascii_lowercase();
        let is_code = country.len() == 2 && country.bytes().all(|b| b.is_ascii_lowercase());
        if !(country.is_empty() || is_code) {
            return Err(InvalidProxy("country is not an ISO-2 code"));
        }
        self.0
            .replace("{country}", &country)
            .replace("{session}", &session.to_string())
            .parse()
    }
}

/// A proxy's user and password.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub user: Vec<u8>,
    pub password: Vec<u8>,
}

impl Credentials {
    /// As HTTP proxies take them (RFC 7617).
    pub fn basic(&self) -> String {
        let pair = [self.user.as_slice(), b":", self.password.as_slice()].concat();
        format!("Basic {}", STANDARD.encode(pair))
    }
}

/// Why a text is not a proxy URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidProxy(&'static str);

impl FromStr for ProxyUrl {
    type Err = InvalidProxy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains("://***@") {
            return Err(InvalidProxy(MASKED));
        }
        let url = parse_strict(text).map_err(|refusal| match refusal.rule {
            Rule::AmbiguousUrl => {
                InvalidProxy("control characters or misplaced slashes in the URL")
            }
            _ => InvalidProxy("not a URL"),
        })?;
        if !matches!(url.scheme(), "http" | "https" | "socks5") {
            return Err(InvalidProxy(
                "the scheme of a proxy is http, https or socks5",
            ));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(InvalidProxy("a proxy needs a host"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidProxy("a proxy's URL has no path"));
        }
        Ok(Self(text.trim_matches(' ').to_owned()))
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Url::parse(&self.0) {
            Ok(url) => {
                write!(f, "{}://", url.scheme())?;
                if !url.username().is_empty() || url.password().is_some() {
                    f.write_str("***@")?;
                }
                f.write_str(url.host_str().unwrap_or(""))?;
                url.port().map_or(Ok(()), |port| write!(f, ":{port}"))
            }
            Err(_) => f.write_str("***"),
        }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({self})")
    }
}

impl Serialize for ProxyUrl {
    /// Redacted, because serialised values are shown to people (`orbweaver config`).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProxyUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_shown() {
        let proxy: ProxyUrl = "socks5://customer:hunter2@gate.example:1080"
            .parse()
            .unwrap();
        let shown = format!(
            "{proxy} {proxy:?} {}",
            serde_json::to_string(&proxy).unwrap()
        );
        assert!(shown.contains("gate.example:1080"));
        assert!(
            !shown.contains("hunter2") && !shown.contains("customer"),
            "{shown}"
        );
        assert!(proxy.expose().contains("hunter2"));
    }

    #[test]
    fn only_the_contracts_schemes_are_proxies() {
        for ok in [
            "http://p:3128",
            "https://u:p@p.example",
            "socks5://10.0.0.1:1080/",
        ] {
            assert!(ok.parse::<ProxyUrl>().is_ok(), "{ok}");
        }
        for bad in [
            "",
            "p:3128",
            "socks4://p",
            "socks5h://p",
            "ftp://p",
            "http://",
            "http://p/path",
            "http://p?x",
            "http://good.example\\@evil.example:3128",
            "socks5://good.example\\@evil.example",
            "http:\\\\p:3128",
            "http://p:31\t28",
            "http://p:3128\n",
            "http://***@p:3128",
        ] {
            assert!(bad.parse::<ProxyUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn host_and_port_are_read_for_every_scheme() {
        for (url, host, port) in [
            ("http://Gate.example.", "gate.example", 80),
            ("https://10.0.0.1", "10.0.0.1", 443),
            ("socks5://0x7f.1", "127.0.0.1", 1080),
            ("socks5://[::1]:25", "::1", 25),
        ] {
            let proxy: ProxyUrl = url.parse().unwrap();
            assert_eq!(
                (proxy.host().to_string(), proxy.port()),
                (host.to_owned(), port)
            );
        }
    }

    #[test]
    fn pools_fill_their_placeholders() {
        let proxy: ProxyUrl = "http://user-{country}-{session}:pw@gate.example:8000"
            .parse()
            .unwrap();
        assert_eq!(
            proxy.filled(Some("DE"), 7).unwrap().expose(),
            "http://user-de-7:pw@gate.example:8000"
        );
        assert!(proxy.filled(Some("x@y"), 7).is_err());
    }
}
