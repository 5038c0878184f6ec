//! Cookies of one job: RFC 6265's storage model, within limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use url::Url;

/// Cookies kept per host, and in a jar (Chrome's figures).
const MAX_PER_HOST: usize = 180;
const MAX_IN_JAR: usize = 3_300;
/// Name and value together (RFC 6265, section 6.1).
const MAX_COOKIE_BYTES: usize = 4096;
/// Bytes of a Cookie header that is sent: what common servers accept.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Cookies of one job, shared by its clones. Jobs never share a jar.
///
/// A cookie goes back to the host that set it and, where it named a `Domain` that is no
/// public suffix, to that domain's other hosts. Expiry is by `Max-Age=0` and past
/// `Expires` only, since a job is shorter than any cookie's life.
#[derive(Clone, Debug, Default)]
pub struct CookieJar(Arc<Mutex<Store>>);

#[derive(Debug, Default)]
struct Store {
    /// By domain, then by name and path.
    domains: BTreeMap<String, BTreeMap<(String, String), Cookie>>,
    count: usize,
}

#[derive(Debug)]
struct Cookie {
    value: String,
    host_only: bool,
    secure: bool,
}

impl CookieJar {
    /// An empty jar.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many cookies it holds.
    pub fn len(&self) -> usize {
        self.0.lock().count
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes what a response from `url` sets; what is malformed, foreign or beyond the
    /// limits is dropped.
    pub fn store<'a>(&self, url: &Url, set_cookie: impl Iterator<Item = &'a str>) {
        let Some(host) = url.host_str() else { return };
        let mut store = self.0.lock();
        // A response of ten thousand cookies costs no more than the ones that are kept.
        for line in set_cookie.take(MAX_PER_HOST) {
            if let Some(parsed) = parse(line, host, url) {
                store.put(parsed);
            }
        }
    }

    /// The Cookie header for `url`; `None` without a cookie.
    pub fn header(&self, url: &Url) -> Option<String> {
        let host = url.host_str()?;
        let store = self.0.lock();
        let mut header = String::new();
        let mut domain = Some(host);
        while let Some(name) = domain {
            for ((cookie, path), entry) in store.domains.get(name).into_iter().flatten() {
                let sent = (!entry.host_only || name == host)
                    && (!entry.secure || url.scheme() == "https")
                    && path_matches(url.path(), path);
                if sent && header.len() + cookie.len() + entry.value.len() < MAX_HEADER_BYTES {
                    push_pair(&mut header, cookie, &entry.value);
                }
            }
            domain = parent(host, name);
        }
        (!header.is_empty()).then_some(header)
    }
}

impl Store {
    fn put(&mut self, parsed: Parsed) {
        let Parsed {
            domain,
            name,
            path,
            cookie,
            expired,
        } = parsed;
        let entries = self.domains.entry(domain).or_default();
        let key = (name, path);
        if expired {
            self.count -= usize::from(entries.remove(&key).is_some());
        } else if let Some(entry) = entries.get_mut(&key) {
            *entry = cookie;
        } else if entries.len() < MAX_PER_HOST && self.count < MAX_IN_JAR {
            entries.insert(key, cookie);
            self.count += 1;
        }
    }
}

fn push_pair(header: &mut String, name: &str, value: &str) {
    if !header.is_empty() {
        header.push_str("; ");
    }
    header.push_str(name);
    header.push('=');
    header.push_str(value);
}

/// The next domain up; `None` beyond the registrable domain or of an address.
fn parent<'a>(host: &str, name: &'a str) -> Option<&'a str> {
    if host.ends_with(']') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return None;
    }
    let (_, up) = name.split_once('.')?;
    (!is_public_suffix(up)).then_some(up)
}

fn is_public_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes()).is_none_or(|suffix| suffix.as_bytes().len() >= domain.len())
}

struct Parsed {
    domain: String,
    name: String,
    path: String,
    cookie: Cookie,
    expired: bool,
}

fn parse(line: &str, host: &str, url: &Url) -> Option<Parsed> {
    let mut parts = line.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let legal = |text: &str| !text.bytes().any(|b| b.is_ascii_control() || b == b';');
    if name.is_empty()
        || name.len() + value.len() > MAX_COOKIE_BYTES
        || !legal(name)
        || !legal(value)
    {
        return None;
    }
    let mut cookie = Cookie {
        value: value.to_owned(),
        host_only: true,
        secure: false,
    };
    let mut domain = host.to_owned();
    let mut path = default_path(url.path()).to_owned();
    let mut expired = false;
    let mut max_age = None;
    for attribute in parts {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" => {
                let asked = value.trim_start_matches('.').to_ascii_lowercase();
                if asked.is_empty() || asked == host {
                    continue;
                }
                // A foreign domain or a public suffix: the cookie is refused (RFC 6265, 5.3).
                let within = host
                    .strip_suffix(&asked)
                    .is_some_and(|rest| rest.ends_with('.'));
                if !within || is_public_suffix(&asked) || parent(host, host).is_none() {
                    return None;
                }
                domain = asked;
                cookie.host_only = false;
            }
            "path" if value.starts_with('/') => path = value.to_owned(),
            "secure" => cookie.secure = true,
            "max-age" => max_age = value.parse::<i64>().ok(),
            "expires" => expired = is_long_past(value),
            _ => {}
        }
    }
    // Max-Age wins over Expires.
    let expired = max_age.map_or(expired, |age| age <= 0);
    Some(Parsed {
        domain,
        name: name.to_owned(),
        path,
        cookie,
        expired,
    })
}

/// Servers delete a cookie by a date in 1970; other dates are in the future, as far as a
/// job is concerned.
fn is_long_past(expires: &str) -> bool {
    expires.contains("1970") || expires.contains("-70 ")
}

fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => path.get(..at).unwrap_or("/"),
    }
}

fn path_matches(path: &str, cookie: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| cookie.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn jar(at: &str, lines: &[&str]) -> CookieJar {
        let jar = CookieJar::new();
        jar.store(&url(at), lines.iter().copied());
        jar
    }

    #[test]
    fn cookies_return_to_their_host_path_and_scheme() {
        let jar = jar(
            "https://a.example.com/x/y",
            &[
                "h=1",
                "d=2; Domain=.example.com; Path=/",
                "s=3; Secure; Path=/x",
            ],
        );
        assert_eq!(
            jar.header(&url("https://a.example.com/x/z")).unwrap(),
            "h=1; s=3; d=2"
        );
        assert_eq!(jar.header(&url("http://a.example.com/")).unwrap(), "d=2");
        assert_eq!(jar.header(&url("https://b.example.com/x/")).unwrap(), "d=2");
        assert_eq!(jar.header(&url("https://a.example.com/xy")).unwrap(), "d=2");
        assert_eq!(jar.header(&url("https://example.org/x/y")), None);
    }

    /// Row 39.
    #[test]
    fn public_suffixes_and_foreign_domains_are_refused() {
        let at = "https://shop.example.co.uk/";
        for line in [
            "a=1; Domain=uk",
            "a=1; Domain=co.uk",
            "a=1; Domain=other.example",
            "a=1; Domain=hop.example.co.uk",
        ] {
            assert!(jar(at, &[line]).is_empty(), "{line}");
        }
        assert!(jar("https://x.github.io/", &["a=1; Domain=github.io"]).is_empty());
        assert!(jar("http://10.0.0.1/", &["a=1; Domain=0.0.1"]).is_empty());
        assert_eq!(jar(at, &["a=1; Domain=example.co.uk"]).len(), 1);
    }

    /// Row 39.
    #[test]
    fn a_jar_has_limits() {
        let lines: Vec<String> = (0..10_000).map(|n| format!("c{n}={n}")).collect();
        let jar = CookieJar::new();
        for n in 0..40 {
            jar.store(
                &url(&format!("https://h{n}.example/")),
                lines.iter().map(String::as_str),
            );
        }
        assert_eq!(jar.len(), MAX_IN_JAR);
        assert!(jar.header(&url("https://h0.example/")).unwrap().len() <= MAX_HEADER_BYTES);
        let big = format!("a={}", "x".repeat(MAX_COOKIE_BYTES));
        assert!(self::jar("https://a.example/", &[&big, "nothing", "=x", "a\u{1}=2"]).is_empty());
    }

    #[test]
    fn cookies_are_replaced_and_deleted() {
        let jar = jar("https://a.example/", &["a=1", "b=2", "a=3"]);
        jar.store(&url("https://a.example/"), ["b=; Max-Age=0"].into_iter());
        assert_eq!(jar.header(&url("https://a.example/")).unwrap(), "a=3");
        jar.store(
            &url("https://a.example/"),
            ["a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"].into_iter(),
        );
        assert_eq!(
            (jar.len(), jar.header(&url("https://a.example/"))),
            (0, None)
        );
    }
}
