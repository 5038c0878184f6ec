//! Values that are hidden in logs, listings and error messages.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use orbweaver_core::redact::{MASK, MASKED};

/// A secret: formatted and serialised as `***`, which is refused as a value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret text. Use it only where it is needed.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secret = String::deserialize(deserializer)?;
        match secret == MASK {
            true => Err(D::Error::custom(MASKED)),
            false => Ok(Self(secret)),
        }
    }
}

/// A URL whose user name and password are shown as `***`, which is refused in their place.
#[derive(Clone, PartialEq, Eq)]
pub struct SafeUrl(String);

impl SafeUrl {
    /// Wraps the URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The URL with its credentials; for connecting.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// A URL without its credentials: the text between `://` and the last `@` of the authority is
/// replaced. Works on invalid URLs too, because error messages quote them.
pub fn redact_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{tail}"),
        None => url.to_owned(),
    }
}

impl<'de> Deserialize<'de> for SafeUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

impl FromStr for SafeUrl {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        if url.contains("://***@") {
            return Err(MASKED.to_owned());
        }
        match Url::parse(url) {
            Ok(_) => Ok(Self(url.to_owned())),
            // Without the text, which may contain a password.
            Err(error) => Err(format!("must be a URL: {error}")),
        }
    }
}

impl fmt::Debug for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_url(&self.0))
    }
}

impl fmt::Display for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_url(&self.0))
    }
}

impl Serialize for SafeUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&redact_url(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_shown_as_stars() {
        let secret = Secret::new("orb_hidden");
        let shown = format!(
            "{secret} {secret:?} {}",
            serde_json::to_string(&secret).unwrap()
        );
        assert_eq!(shown, "*** *** \"***\"");
        assert_eq!(secret.expose(), "orb_hidden");
        let read = serde_json::from_str::<Secret>;
        assert_eq!(read("\"orb_hidden\"").unwrap(), secret);
        assert!(read("\"***\"").is_err());
    }

    #[test]
    fn credentials_are_removed_from_urls() {
        for (url, shown) in [
            ("postgres://u:p@db:5432/x", "postgres://***@db:5432/x"),
            ("http://u:p@ss@proxy/", "http://***@proxy/"),
            ("socks5://host:1080", "socks5://host:1080"),
            ("https://a/?x=y@z", "https://a/?x=y@z"),
            ("sqlite:/tmp/a.db", "sqlite:/tmp/a.db"),
        ] {
            assert_eq!(SafeUrl::new(url).to_string(), shown);
            let shown = serde_json::to_string(shown).unwrap();
            let is_whole = url == SafeUrl::new(url).to_string();
            assert_eq!(serde_json::from_str::<SafeUrl>(&shown).is_ok(), is_whole);
            let masked = SafeUrl::new(url).to_string();
            assert_eq!(masked.parse::<SafeUrl>().is_ok(), is_whole, "of a list");
        }
    }
}
