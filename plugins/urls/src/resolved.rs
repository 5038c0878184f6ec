//! An absolute URL as text with the offsets of its parts.

use std::fmt;

use url::{Position, Url};

/// An absolute `http` or `https` URL, serialised as in the WHATWG standard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    pub(crate) text: String,
    /// Start and end of the host; the port is between its end and the path.
    pub(crate) host_start: u32,
    pub(crate) host_end: u32,
    pub(crate) path_start: u32,
    /// End of the path: at the `?`, the `#` or the end of the URL.
    pub(crate) path_end: u32,
    /// End of the query: at the `#` or the end of the URL.
    pub(crate) query_end: u32,
}

impl Resolved {
    /// Parses an absolute URL; `None` in the same cases as [`from_url`](Self::from_url).
    pub fn parse(url: &str) -> Option<Self> {
        Self::from_url(&Url::parse(url).ok()?)
    }

    /// Takes the offsets from a parsed URL; `None` unless it is `http` or `https` and
    /// within [`MAX_URL_BYTES`](crate::MAX_URL_BYTES).
    pub fn from_url(url: &Url) -> Option<Self> {
        let mut resolved = Self::default();
        resolved.set(url).then_some(resolved)
    }

    pub(crate) fn set(&mut self, url: &Url) -> bool {
        let text = url.as_str();
        if !matches!(url.scheme(), "http" | "https") || text.len() > crate::MAX_URL_BYTES {
            return false;
        }
        let at = |position| (url[..position].len()) as u32;
        self.text.clear();
        self.text.push_str(text);
        self.host_start = at(Position::BeforeHost);
        self.host_end = at(Position::AfterHost);
        self.path_start = at(Position::BeforePath);
        self.path_end = at(Position::AfterPath);
        self.query_end = at(Position::AfterQuery);
        true
    }

    pub(crate) fn part(&self, from: u32, to: u32) -> &str {
        self.text.get(from as usize..to as usize).unwrap_or("")
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Converts it to a string.
    pub fn into_string(self) -> String {
        self.text
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        if self.text.starts_with("https") {
            "https"
        } else {
            "http"
        }
    }

    /// The host in lower case; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        self.part(self.host_start, self.host_end)
    }

    /// The port after normalisation: empty if it is the scheme's default.
    pub fn port(&self) -> &str {
        self.part(self.host_end, self.path_start)
            .trim_start_matches(':')
    }

    /// The path, which starts with `/`.
    pub fn path(&self) -> &str {
        self.part(self.path_start, self.path_end)
    }

    /// The text after the `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.part(self.path_end, self.query_end).strip_prefix('?')
    }

    /// The text after the `#`, if there is one.
    pub fn fragment(&self) -> Option<&str> {
        self.part(self.query_end, self.text.len() as u32)
            .strip_prefix('#')
    }

    /// The URL without its fragment.
    pub fn without_fragment(&self) -> &str {
        self.part(0, self.query_end)
    }
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for Resolved {
    fn as_ref(&self) -> &str {
        &self.text
    }
}
