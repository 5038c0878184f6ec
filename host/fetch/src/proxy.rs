//! Proxies: their addresses, which redact themselves, and pools.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

/// A proxy pool of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// Data-centre addresses.
    Datacenter,
    /// Static addresses of access providers.
    Isp,
    /// Home connections.
    Residential,
    /// Mobile networks.
    Mobile,
}

impl Pool {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Datacenter => "datacenter",
            Self::Isp => "isp",
            Self::Residential => "residential",
            Self::Mobile => "mobile",
        }
    }
}

/// A proxy's URL: scheme `http`, `https` or `socks5`, a host, maybe a user and password,
/// which `Debug` and `Display` leave out. A pool's URL may hold `{country}` and `{session}`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProxyUrl(String);

impl ProxyUrl {
    /// The URL with its credentials: for the connection, never for a log.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Where it is. The host of a URL whose scheme is neither http nor https is not parsed as
    /// an address by the URL standard; it is here.
    pub(crate) fn host(&self) -> url::Host<String> {
        let text = Url::parse(&self.0)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default();
        url::Host::parse(&text).unwrap_or(url::Host::Domain(text))
    }

    /// Whether plain http requests go to it whole, instead of through a tunnel.
    pub(crate) fn forwards(&self) -> bool {
        !self.0.starts_with("socks5:")
    }

    /// Whether a country can be asked of it.
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

/// Why a proxy's URL is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidProxy(&'static str);

impl FromStr for ProxyUrl {
    type Err = InvalidProxy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(|_| InvalidProxy("not a URL"))?;
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
        Ok(Self(text.trim().to_owned()))
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
    /// Redacted: what is serialised is shown to people (`orbweaver config`).
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
    fn credentials_never_show() {
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
        ] {
            assert!(bad.parse::<ProxyUrl>().is_err(), "{bad}");
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
