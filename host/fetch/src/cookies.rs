//! Cookies of one job: RFC 6265's storage model (crate `cookie_store`) with limits. Public
//! suffixes are those of publicsuffix.org (crate `psl`).

use std::collections::HashMap;
use std::sync::Arc;

use cookie_store::{Cookie, CookieDomain, CookieStore, StoreAction};
use parking_lot::Mutex;
use url::Url;

/// Most cookies per domain, and per jar (Chrome's figures).
const MAX_PER_DOMAIN: usize = 180;
const MAX_IN_JAR: usize = 3_300;
/// Largest name and value together (RFC 6265, section 6.1), in bytes.
const MAX_COOKIE_BYTES: usize = 4096;
/// Largest Set-Cookie line with its attributes, in bytes.
const MAX_LINE_BYTES: usize = 2 * MAX_COOKIE_BYTES;
/// Largest Cookie header sent, in bytes: common servers accept this size.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Cookies of one job, shared by its clones. Jobs never share a jar.
///
/// A cookie is sent back to the host that set it and, if it names a `Domain` that is not a
/// public suffix, to that domain's other hosts, until its `Max-Age` or `Expires`.
#[derive(Clone, Debug, Default)]
pub struct CookieJar(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    cookies: CookieStore,
    /// Number of cookies in `cookies` by domain, including expired ones.
    per_domain: HashMap<String, usize>,
    count: usize,
}

impl CookieJar {
    /// Creates an empty jar.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of cookies.
    pub fn len(&self) -> usize {
        self.0.lock().count
    }

    /// Whether it has no cookies.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores the Set-Cookie lines of a response from `url`. Malformed cookies, cookies for
    /// foreign domains and cookies beyond the limits are dropped.
    pub fn store<'a>(&self, url: &Url, set_cookie: impl Iterator<Item = &'a str>) {
        let mut inner = self.0.lock();
        // Bounds the work for a response with ten thousand cookies, as does looking for expired ones
        // once.
        let mut is_tidy = false;
        for line in set_cookie.take(MAX_PER_DOMAIN) {
            let Some(cookie) = parse(line, url) else {
                continue;
            };
            if inner.is_full_for(&cookie) && !std::mem::replace(&mut is_tidy, true) {
                inner.remove_expired();
            }
            inner.put(cookie, url);
        }
    }

    /// The Cookie header for `url`, longer paths first (RFC 6265, section 5.4); `None`
    /// without a cookie.
    pub fn header(&self, url: &Url) -> Option<String> {
        let inner = self.0.lock();
        let mut cookies = inner.cookies.matches(url);
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut header = String::new();
        for (name, value) in cookies.into_iter().map(|cookie| cookie.name_value()) {
            if header.len() + name.len() + value.len() >= MAX_HEADER_BYTES {
                continue;
            }
            if !header.is_empty() {
                header.push_str("; ");
            }
            header.push_str(name);
            header.push('=');
            header.push_str(value);
        }
        (!header.is_empty()).then_some(header)
    }
}

impl Inner {
    /// Whether there is no place for one more cookie of its domain, expired ones included.
    fn is_full_for(&self, cookie: &Cookie<'_>) -> bool {
        let domain = cookie.domain.as_cow();
        let in_domain = domain.and_then(|domain| self.per_domain.get(&*domain));
        self.count >= MAX_IN_JAR || in_domain.is_some_and(|count| *count >= MAX_PER_DOMAIN)
    }

    fn put(&mut self, cookie: Cookie<'static>, url: &Url) {
        let Some(domain) = cookie.domain.as_cow().map(|domain| domain.into_owned()) else {
            return;
        };
        let (path, name) = (String::from(&cookie.path), cookie.name().to_owned());
        let is_new = self.cookies.get_any(&domain, &path, &name).is_none();
        let in_domain = self.per_domain.get(&domain).copied().unwrap_or(0);
        if is_new && (in_domain >= MAX_PER_DOMAIN || self.count >= MAX_IN_JAR) {
            return;
        }
        match self.cookies.insert(cookie, url) {
            Ok(StoreAction::Inserted) if is_new => {
                *self.per_domain.entry(domain).or_default() += 1;
                self.count += 1;
            }
            // The library only marks a deleted cookie.
            Ok(StoreAction::ExpiredExisting) => self.remove(&domain, &path, &name),
            Ok(_) | Err(_) => {}
        }
    }

    fn remove(&mut self, domain: &str, path: &str, name: &str) {
        if self.cookies.remove(domain, path, name).is_none() {
            return;
        }
        self.count -= 1;
        if let Some(in_domain) = self.per_domain.get_mut(domain) {
            *in_domain -= 1;
            if *in_domain == 0 {
                self.per_domain.remove(domain);
            }
        }
    }

    fn remove_expired(&mut self) {
        let expired: Vec<(String, String, String)> = self
            .cookies
            .iter_any()
            .filter(|cookie| cookie.is_expired())
            .map(|cookie| {
                let (domain, path) = (String::from(&cookie.domain), String::from(&cookie.path));
                (domain, path, cookie.name().to_owned())
            })
            .collect();
        for (domain, path, name) in expired {
            self.remove(&domain, &path, &name);
        }
    }
}

/// Parses a cookie that `url` may set; `None` if it is malformed, oversized, or its
/// `Domain` is foreign or a public suffix.
fn parse(line: &str, url: &Url) -> Option<Cookie<'static>> {
    // RFC 6265bis, section 5.6: of the control characters, a tab does no harm.
    let is_refused = |byte: u8| byte.is_ascii_control() && byte != b'\t';
    if line.len() > MAX_LINE_BYTES || line.bytes().any(is_refused) {
        return None;
    }
    let mut cookie = Cookie::parse(line, url).ok()?.into_owned();
    if cookie.name().len() + cookie.value().len() > MAX_COOKIE_BYTES {
        return None;
    }
    if let CookieDomain::Suffix(domain) = &cookie.domain
        && is_public_suffix(domain)
    {
        // A host that is itself a public suffix may set host-only cookies (RFC 6265, 5.3).
        if url.host_str() != Some(domain) {
            return None;
        }
        cookie.domain = CookieDomain::host_only(url).ok()?;
    }
    Some(cookie)
}

fn is_public_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes()).is_none_or(|suffix| suffix.as_bytes().len() >= domain.len())
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

    /// Fault 39 of the list of crawler faults.
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

    /// Fault 39 of the list of crawler faults.
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
        let long = format!("a=1; Path=/{}", "x".repeat(MAX_LINE_BYTES));
        assert!(
            self::jar(
                "https://a.example/",
                &[&big, &long, "nothing", "=x", "a\u{1}=2"]
            )
            .is_empty()
        );
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

    #[test]
    fn max_age_and_expires_end_a_cookie() {
        let at = "https://a.example/";
        for expired in [
            "a=1; Expires=Wed, 01 Jan 2020 00:00:00 GMT",
            "a=1; Expires=Wed, 01-Jan-2020 00:00:00 GMT",
            "a=1; Expires=Wednesday, 01-Jan-20 00:00:00 GMT",
            "a=1; Expires=Thu, 01-Jan-1970 00:00:01 GMT",
            "a=1; Max-Age=0",
            "a=1; Max-Age=-1",
            "a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Max-Age=0",
        ] {
            assert!(jar(at, &[expired]).is_empty(), "{expired}");
            let jar = jar(at, &["a=old", expired]);
            assert_eq!((jar.len(), jar.header(&url(at))), (0, None), "{expired}");
        }
        for alive in [
            "a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
            "a=1; Expires=Sat, 01-Jan-2170 00:00:00 GMT",
            "a=1; Expires=Fri, 19-Feb-1970x",
            "a=1; Max-Age=60; Expires=Wed, 01 Jan 2020 00:00:00 GMT",
            "a=1; Max-Age=99999999999999999999",
        ] {
            let header = jar(at, &[alive]).header(&url(at));
            assert_eq!(header.as_deref(), Some("a=1"), "{alive}");
        }
    }

    #[test]
    fn deleted_cookies_make_room() {
        let at = "https://a.example/";
        let fill = || (0..MAX_PER_DOMAIN).map(|n| format!("c{n}={n}"));
        let jar = CookieJar::new();
        for _ in 0..2 {
            let lines: Vec<String> = fill().collect();
            jar.store(&url(at), lines.iter().map(String::as_str));
            jar.store(&url(at), ["more=1"].into_iter());
            assert_eq!(jar.len(), MAX_PER_DOMAIN);
            let lines: Vec<String> = fill().map(|line| line + "; Max-Age=0").collect();
            jar.store(&url(at), lines.iter().map(String::as_str));
            assert!(jar.is_empty());
        }
    }

    #[test]
    fn expired_cookies_make_room_too() {
        let at = "https://a.example/";
        let jar = CookieJar::new();
        for n in 0..MAX_PER_DOMAIN {
            jar.store(&url(at), [&*format!("c{n}=1; Max-Age=1")].into_iter());
        }
        while jar.header(&url(at)).is_some() {
            std::thread::yield_now();
        }
        jar.store(&url(at), ["login=1"].into_iter());
        assert_eq!(jar.header(&url(at)).as_deref(), Some("login=1"));
        assert_eq!(jar.len(), 1);
    }

    #[test]
    fn cookies_may_have_tabs_and_other_scripts() {
        let at = "https://a.example/";
        let jar = jar(at, &["city=Москва; Path=/", "a=1;\tPath=/"]);
        assert_eq!(jar.len(), 2);
        assert!(
            jar.header(&url(at))
                .is_some_and(|all| all.contains("city=Москва"))
        );
    }

    #[test]
    fn ip_addresses_have_their_own_cookies() {
        for at in [
            "http://10.0.0.1/",
            "http://[2001:db8::1]/",
            "http://localhost/",
        ] {
            let jar = jar(at, &["a=1; Path=/"]);
            assert_eq!(jar.header(&url(at)).as_deref(), Some("a=1"), "{at}");
        }
        assert!(jar("http://[2001:db8::1]/", &["a=1; Domain=db8::1]"]).is_empty());
        let suffix = jar("https://github.io/", &["a=1; Domain=github.io"]);
        assert!(suffix.header(&url("https://github.io/")).is_some());
        assert!(suffix.header(&url("https://x.github.io/")).is_none());
    }
}
