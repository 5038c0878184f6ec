//! Resolves URL references against a base.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};

use url::{ParseError, Url};

use crate::{MAX_URL_BYTES, Resolved};

/// A base for references: a page's URL, or its `<base href>`.
#[derive(Debug)]
pub struct Base {
    url: Url,
    parts: Resolved,
    /// End of the path's directory: after its last slash.
    directory_end: usize,
    /// Bytes that resolved URLs may still have. A limited base is used by one thread at a time,
    /// so loads and stores need no ordering.
    left: AtomicU64,
}

impl Clone for Base {
    fn clone(&self) -> Self {
        Self {
            url: self.url.clone(),
            parts: self.parts.clone(),
            directory_end: self.directory_end,
            left: AtomicU64::new(self.left.load(Ordering::Relaxed)),
        }
    }
}

impl Base {
    /// Creates a base from an absolute `http` or `https` URL; `None` for any other text.
    pub fn new(url: &str) -> Option<Self> {
        if url.len() > MAX_URL_BYTES {
            return None;
        }
        Self::from_url(Url::parse(url).ok()?)
    }

    /// Creates a base from a parsed URL; `None` unless it is `http` or `https`.
    pub fn from_url(url: Url) -> Option<Self> {
        let parts = Resolved::from_url(&url)?;
        let slash = parts.path().rfind('/')?;
        let directory_end = parts.path_start as usize + slash + 1;
        Some(Self {
            url,
            parts,
            directory_end,
            left: AtomicU64::new(u64::MAX),
        })
    }

    /// Limits the sum of all URLs resolved against this base, in bytes. Otherwise a page with a
    /// long `<base href>` and many short links would cost thousands of times its own size.
    ///
    #[must_use]
    pub fn limited(mut self, bytes: u64) -> Self {
        self.left = AtomicU64::new(bytes);
        self
    }

    /// Whether the limit of [`limited`](Self::limited) is reached; then nothing more is resolved.
    pub fn is_exhausted(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Creates a base from a resolved URL.
    pub fn from_resolved(parts: Resolved) -> Option<Self> {
        Self::from_url(Url::parse(parts.as_str()).ok()?)
    }

    /// The base's URL.
    pub fn as_str(&self) -> &str {
        self.parts.as_str()
    }

    /// The base's URL with its parts.
    pub fn url(&self) -> &Resolved {
        &self.parts
    }

    /// The host, lower-case.
    pub fn host(&self) -> &str {
        self.parts.host()
    }

    /// Resolves `href` to an absolute URL, with escapes as written; `None` if it is not a URL, not
    /// `http` or `https`, too long, or beyond the limit of [`limited`](Self::limited).
    pub fn join(&self, href: &str) -> Option<Resolved> {
        let mut out = Resolved::default();
        self.join_into(href, &mut out).then_some(out)
    }

    /// Same as [`join`](Self::join), into a value that is reused for the next link. False if
    /// `join` would return `None`; `out` is then unspecified.
    pub fn join_into(&self, href: &str, out: &mut Resolved) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if href.len() > MAX_URL_BYTES || left == 0 {
            return false;
        }
        let joined = self
            .join_plain(href, out)
            .unwrap_or_else(|| self.join_parsed(href).is_some_and(|url| out.set(&url)));
        if !joined {
            return false;
        }
        let rest = left.checked_sub(out.as_str().len() as u64);
        self.left.store(rest.unwrap_or(0), Ordering::Relaxed);
        rest.is_some()
    }

    /// Resolves by the standard's parser. It takes the third slash of `///host/x` for the end of an empty
    /// host; browsers ignore it (URL standard, "special authority ignore slashes state").
    fn join_parsed(&self, href: &str) -> Option<Url> {
        match self.url.join(href) {
            Err(ParseError::EmptyHost) => {
                let host = trim(href).strip_prefix("//")?;
                let host = host.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
                self.url.join(&format!("//{host}")).ok()
            }
            joined => joined.ok(),
        }
    }

    /// Resolves common forms by copying; `None` if the standard's parser is needed: bytes other
    /// than plain ASCII, escaped dots, `..` after a drive letter, unusual hosts.
    fn join_plain(&self, href: &str, out: &mut Resolved) -> Option<bool> {
        let href = trim(href);
        let bytes = href.as_bytes();
        let (prefix, rest) = match bytes.first() {
            None | Some(b'#') => (Prefix::Document, href),
            Some(b'?') => (Prefix::Path, href),
            Some(b'/') if bytes.get(1) == Some(&b'/') => {
                return self.join_host(href.get(2..)?, self.parts.scheme(), out);
            }
            Some(b'/') => (Prefix::Host, href.get(1..)?),
            Some(b'a'..=b'z' | b'A'..=b'Z') => match scheme(bytes) {
                None => (Prefix::Directory, href),
                Some(length) => match self.own_host(href) {
                    Some(rest) => (Prefix::Host, rest),
                    None => return self.join_absolute(href, length, out),
                },
            },
            Some(_) => (Prefix::Directory, href),
        };
        let base = &self.parts;
        let keep = match prefix {
            Prefix::Document => base.query_end as usize,
            Prefix::Path => base.path_end as usize,
            Prefix::Host => base.path_start as usize,
            Prefix::Directory => self.directory_end,
        };
        out.text.clear();
        out.text.push_str(base.text.get(..keep)?);
        out.host_start = base.host_start;
        out.host_end = base.host_end;
        out.path_start = base.path_start;
        out.path_end = base.path_end;
        out.query_end = base.query_end;
        match prefix {
            Prefix::Document => push_fragment(rest, out),
            Prefix::Path => push_query(rest, out),
            Prefix::Host => {
                // The slash is the root; dot segments cannot go above it.
                out.text.push('/');
                push_path(rest, out)
            }
            Prefix::Directory => push_path(rest, out),
        }
    }

    /// The text after the host and its slash, if the host is the base's own: most absolute links
    /// stay on their site.
    fn own_host<'h>(&self, href: &'h str) -> Option<&'h str> {
        let own = self.parts.text.get(..self.parts.path_start as usize)?;
        href.strip_prefix(own)?.strip_prefix('/')
    }

    /// Resolves a reference whose scheme has this length.
    fn join_absolute(&self, href: &str, length: usize, out: &mut Resolved) -> Option<bool> {
        let scheme = href.get(..length)?;
        if matches!(scheme, "http" | "https") {
            let rest = href.get(length + 1..)?.strip_prefix("//")?;
            return self.join_host(rest, scheme, out);
        }
        // Upper case is rare, so it is left to the parser.
        let http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        (!http).then_some(false)
    }

    /// Resolves the text after `//`.
    fn join_host(&self, rest: &str, scheme: &str, out: &mut Resolved) -> Option<bool> {
        let end = rest
            .bytes()
            .position(|b| matches!(b, b'/' | b'?' | b'#'))
            .unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end)?;
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, port),
            None => (authority, ""),
        };
        out.text.clear();
        out.text.push_str(scheme);
        out.text.push_str("://");
        out.host_start = out.text.len() as u32;
        push_host(host, &mut out.text)?;
        out.host_end = out.text.len() as u32;
        if !port.is_empty() {
            let plain = port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
            if !plain || port.starts_with('0') || port.parse::<u16>().is_err() {
                return None;
            }
            if !matches!((scheme, port), ("http", "80") | ("https", "443")) {
                out.text.push(':');
                out.text.push_str(port);
            }
        }
        out.path_start = out.text.len() as u32;
        out.text.push('/');
        push_path(rest.strip_prefix('/').unwrap_or(rest), out)
    }
}

/// The part of the base that a reference keeps.
#[derive(Clone, Copy)]
enum Prefix {
    /// Everything except the fragment.
    Document,
    /// Up to the end of the path.
    Path,
    /// Up to the host and port.
    Host,
    /// Up to the last slash of the path.
    Directory,
}

/// The length of a scheme before its colon.
fn scheme(bytes: &[u8]) -> Option<usize> {
    let end = bytes
        .iter()
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')))?;
    (bytes.get(end) == Some(&b':')).then_some(end)
}

/// Removes the standard's "C0 control or space" from both ends.
fn trim(href: &str) -> &str {
    let edge = |b: Option<&u8>| b.is_some_and(|b| *b <= b' ');
    if edge(href.as_bytes().first()) || edge(href.as_bytes().last()) {
        return href.trim_matches(|c| c <= ' ');
    }
    href
}

/// Appends a host of plain labels in lower case. `None` for hosts that the standard treats in a
/// special way: addresses in unusual forms, punycode, characters other than letters, digits,
/// hyphen and underscore.
fn push_host(host: &str, out: &mut String) -> Option<()> {
    let start = out.len();
    out.push_str(host);
    let written = out.get_mut(start..)?;
    written.make_ascii_lowercase();
    if written.parse::<Ipv4Addr>().is_ok() {
        // In the standard's form: four numbers without leading zeros.
        return Some(());
    }
    let mut labels = written.split('.').peekable();
    let mut last = "";
    while let Some(label) = labels.next() {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if label.is_empty() {
            // A host may end with one dot; other empty labels are left to the parser.
            return (labels.peek().is_none() && is_name(last)).then_some(());
        }
        if !label.bytes().all(plain) || label.starts_with("xn--") {
            return None;
        }
        last = label;
    }
    is_name(last).then_some(())
}

/// Whether a host that ends with this label is a name: the last label decides whether it is an
/// IPv4 address.
fn is_name(last: &str) -> bool {
    last.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
}

/// Bytes that the parser copies unchanged in a path, in a query and in a fragment.
const IN_PATH: u8 = 1;
const IN_QUERY: u8 = 2;
const IN_FRAGMENT: u8 = 4;

const PLAIN: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] = match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => IN_PATH | IN_QUERY | IN_FRAGMENT,
            b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b','
            | b';' | b'=' | b':' | b'@' | b'%' | b'/' => IN_PATH | IN_QUERY | IN_FRAGMENT,
            b'?' => IN_QUERY | IN_FRAGMENT,
            b'\'' => IN_PATH | IN_FRAGMENT,
            b'[' | b']' | b'|' | b'{' | b'}' | b'\\' | b'^' => IN_FRAGMENT,
            _ => 0,
        };
        byte += 1;
    }
    table
};

fn is_plain(byte: u8, place: u8) -> bool {
    PLAIN
        .get(usize::from(byte))
        .is_some_and(|class| class & place != 0)
}

/// Appends a relative path with the rest of the reference, to a text that ends with the
/// directory's slash.
fn push_path(rest: &str, out: &mut Resolved) -> Option<bool> {
    let mut end = 0;
    let (mut dots, mut escapes, mut before) = (false, false, b'/');
    for &byte in rest.as_bytes() {
        if !is_plain(byte, IN_PATH) {
            if !matches!(byte, b'?' | b'#') {
                return None;
            }
            break;
        }
        dots |= byte == b'.' && before == b'/';
        escapes |= byte == b'%';
        before = byte;
        end += 1;
    }
    let (path, rest) = rest.split_at_checked(end)?;
    // The parser treats an escaped dot as a dot.
    if escapes && (path.contains("%2e") || path.contains("%2E")) {
        return None;
    }
    if dots {
        let mut segments = path.split('/').peekable();
        while let Some(segment) = segments.next() {
            match segment {
                "." => {}
                ".." => {
                    let root = out.path_start as usize;
                    let parent = out.text.len() - 1;
                    let slash = out.text.get(root..parent)?.rfind('/').unwrap_or(0);
                    let keep = root + slash + 1;
                    if out.text.get(keep..parent).is_some_and(is_drive_letter) {
                        return None;
                    }
                    out.text.truncate(keep);
                }
                name => {
                    out.text.push_str(name);
                    if segments.peek().is_some() {
                        out.text.push('/');
                    }
                }
            }
        }
    } else {
        out.text.push_str(path);
    }
    out.path_end = out.text.len() as u32;
    push_query(rest, out)
}

/// Whether a segment looks like a Windows drive letter. By the standard, `..` keeps one in `file:`
/// URLs alone. The parser (url 2.5) keeps it in all, and decides for the whole service: two
/// readings of one URL would be two pages.
fn is_drive_letter(segment: &str) -> bool {
    matches!(segment.as_bytes(), [letter, b':' | b'|'] if letter.is_ascii_alphabetic())
}

/// Appends a query, if there is one, and the rest of the reference.
fn push_query(rest: &str, out: &mut Resolved) -> Option<bool> {
    let fragment = rest.find('#').unwrap_or(rest.len());
    let (query, rest) = rest.split_at_checked(fragment)?;
    if !query.bytes().all(|b| is_plain(b, IN_QUERY)) {
        return None;
    }
    out.text.push_str(query);
    out.query_end = out.text.len() as u32;
    push_fragment(rest, out)
}

/// Appends a fragment, if there is one, which ends the reference.
fn push_fragment(rest: &str, out: &mut Resolved) -> Option<bool> {
    let fragment = rest.strip_prefix('#').unwrap_or("");
    if !fragment.bytes().all(|b| is_plain(b, IN_FRAGMENT)) {
        return None;
    }
    out.text.push_str(rest);
    Some(out.text.len() <= MAX_URL_BYTES)
}

#[cfg(test)]
mod tests;
