//! The response of a fetch.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The URL that answered with the redirect.
    pub url: String,
    /// Its status.
    pub status: u16,
    /// Whether the redirect changed from https to http.
    pub downgrade: bool,
}

/// Header that an incomplete response gets here; its value says what became of the page, as the end of a
/// sentence. It goes wherever the page's headers go: into its row, and to plugins. A site's own header of
/// this name is dropped.
pub const INCOMPLETE: &str = "x-orbweaver-incomplete";

/// The value of [`INCOMPLETE`] for a body that ended before its content coding did, or was cut.
pub(crate) const ENDED_EARLY: &str = "its body ended early";

/// Response headers: names in lower case, duplicates kept in their order. Values that are not
/// UTF-8 are decoded as ISO-8859-1, which keeps every byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub(crate) fn from_map(map: &HeaderMap) -> Self {
        let mut headers = Vec::with_capacity(map.len());
        for (name, value) in map {
            if name.as_str() != INCOMPLETE {
                headers.push((name.as_str().to_owned(), text(value.as_bytes())));
            }
        }
        Self(headers)
    }

    /// Says that the response is incomplete, and why.
    pub(crate) fn say_incomplete(&mut self, why: &str) {
        self.0.push((INCOMPLETE.to_owned(), why.to_owned()));
    }

    /// The first value of `name` (lower case).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// All values of `name` (lower case).
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// All headers in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Number of headers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Headers {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(headers: T) -> Self {
        Self(headers.into_iter().collect())
    }
}

pub(crate) fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|&b| char::from(b)).collect(),
    }
}

/// A compressed body as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// `gzip`, `br` or `zstd`.
    pub encoding: &'static str,
    /// One complete stream of that coding, verified by its checksum if it has one.
    pub bytes: Bytes,
}

/// Durations since the start of the fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Until the last response's headers.
    pub first_byte: Duration,
    /// Until the end of the body.
    pub total: Duration,
}

/// A response, with any status.
#[derive(Clone, Debug)]
pub struct Response {
    /// The requested URL, as parsed.
    pub url: String,
    /// The URL that answered.
    pub final_url: String,
    /// The status.
    pub status: u16,
    /// Headers of the last response, and [`INCOMPLETE`] where that holds.
    pub headers: Headers,
    /// The redirects on the way, in order.
    pub redirects: Vec<Hop>,
    /// The decoded body.
    pub body: Bytes,
    /// The body as received, if it can be stored in that form: exactly one complete gzip, br
    /// or zstd stream.
    pub raw: Option<Raw>,
    /// Whether the body is incomplete: a coding's stream ended early, or the limit cut it.
    pub truncated: bool,
    /// Bytes of the body on the wire.
    pub wire_bytes: u64,
    /// Durations since the start of the fetch.
    pub timings: Timings,
    /// The peer: the server, or the proxy.
    pub remote_addr: Option<SocketAddr>,
}

impl Response {
    /// The Content-Type.
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get("content-type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn headers_keep_duplicates_and_opaque_bytes() {
        let mut map = HeaderMap::new();
        map.append("Set-Cookie", HeaderValue::from_static("a=1"));
        map.append("x-name", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        map.append("set-cookie", HeaderValue::from_static("b=2"));
        map.append(INCOMPLETE, HeaderValue::from_static("of a site"));
        map.append(
            "x-utf8",
            HeaderValue::from_bytes("café".as_bytes()).unwrap(),
        );
        let headers = Headers::from_map(&map);
        assert_eq!(
            headers.get_all("set-cookie").collect::<Vec<_>>(),
            ["a=1", "b=2"]
        );
        assert_eq!(
            (headers.get("x-name"), headers.get("x-utf8")),
            (Some("café"), Some("café"))
        );
        assert_eq!((headers.len(), headers.get("absent")), (4, None));
    }
}
