//! Resolving references against a base.

use url::Url;

use crate::{MAX_URL_BYTES, Resolved};

/// What references are resolved against: a page's URL, or its `<base href>`.
#[derive(Clone, Debug)]
pub struct Base {
    url: Url,
    parts: Resolved,
}

impl Base {
    /// A base of an absolute `http` or `https` URL; `None` for anything else.
    pub fn new(url: &str) -> Option<Self> {
        if url.len() > MAX_URL_BYTES {
            return None;
        }
        Self::from_url(Url::parse(url).ok()?)
    }

    /// A base of a parsed URL; `None` unless it is `http` or `https`.
    pub fn from_url(url: Url) -> Option<Self> {
        let parts = Resolved::from_url(&url)?;
        Some(Self { url, parts })
    }

    /// A base of a resolved URL.
    pub fn from_resolved(parts: Resolved) -> Option<Self> {
        let url = Url::parse(parts.as_str()).ok()?;
        Some(Self { url, parts })
    }

    /// The base's own URL.
    pub fn as_str(&self) -> &str {
        self.parts.as_str()
    }

    /// The base's own URL with its parts.
    pub fn url(&self) -> &Resolved {
        &self.parts
    }

    /// The host, lower-case.
    pub fn host(&self) -> &str {
        self.parts.host()
    }

    /// The absolute URL that `href` stands for, escapes as written; `None` where it is no
    /// URL, not `http` or `https`, or too long.
    pub fn join(&self, href: &str) -> Option<Resolved> {
        let mut out = Resolved::default();
        self.join_into(href, &mut out).then_some(out)
    }

    /// As [`join`](Self::join), into a value that is used again for the next link. False
    /// where `join` gives `None`; `out` is then unspecified.
    pub fn join_into(&self, href: &str, out: &mut Resolved) -> bool {
        if href.len() > MAX_URL_BYTES {
            return false;
        }
        self.url.join(href).is_ok_and(|url| out.set(&url))
    }
}
