//! Cookies that pages of a session share. Each page has its own browser context: the session's
//! cookies are put into it before the page is opened, and taken out of it when it is loaded.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use url::Url;

use crate::cookies::CookieJar;

/// Most cookies of a session, and their size together as JSON.
const MAX_COOKIES: usize = 300;
const MAX_BYTES: usize = 256 << 10;
/// Members of a cookie that are kept.
const KEPT: [&str; 7] = [
    "name", "value", "path", "secure", "httpOnly", "sameSite", "expires",
];

/// The cookies of a session. Clones share them.
#[derive(Clone, Default)]
pub struct SessionCookies(Arc<Mutex<Vec<Value>>>);

impl fmt::Debug for SessionCookies {
    /// Omits the cookies, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionCookies({})", self.0.lock().len())
    }
}

impl SessionCookies {
    /// The cookies, as a command sets them.
    pub(super) fn settable(&self) -> Vec<Value> {
        self.0.lock().clone()
    }

    /// Replaces them by a browser's.
    pub(super) fn replace(&self, found: Vec<Map<String, Value>>) {
        let mut size = 0;
        let cookies = found.into_iter().filter_map(settable).take(MAX_COOKIES);
        let cookies = cookies.take_while(|cookie| {
            size += cookie.to_string().len();
            size <= MAX_BYTES
        });
        *self.0.lock() = cookies.collect();
    }
}

/// A cookie of the browser as a command sets it.
fn settable(cookie: Map<String, Value>) -> Option<Value> {
    let domain = cookie.get("domain")?.as_str()?.to_owned();
    let mut set: Map<String, Value> = cookie
        .into_iter()
        .filter(|(name, _)| KEPT.contains(&name.as_str()))
        .collect();
    // -1 is a cookie of the browser's session.
    if set
        .get("expires")
        .and_then(Value::as_f64)
        .is_none_or(|at| at < 0.0)
    {
        set.remove("expires");
    }
    if domain.starts_with('.') {
        set.insert("domain".to_owned(), Value::from(domain));
    } else {
        // With a domain, a cookie of this host alone would become one of its subdomains, too.
        let scheme = match set.get("secure").and_then(Value::as_bool) {
            Some(true) => "https",
            _ => "http",
        };
        set.insert(
            "url".to_owned(),
            Value::from(format!("{scheme}://{domain}/")),
        );
    }
    Some(Value::Object(set))
}

/// A browser's cookies as the jar of a fetch.
pub(super) fn jar(found: &[Map<String, Value>]) -> CookieJar {
    let jar = CookieJar::default();
    for cookie in found {
        let text = |name: &str| cookie.get(name).and_then(Value::as_str);
        let is_secure = cookie.get("secure").and_then(Value::as_bool) == Some(true);
        let (Some(name), Some(value), Some(domain)) = (text("name"), text("value"), text("domain"))
        else {
            continue;
        };
        let scheme = if is_secure { "https" } else { "http" };
        let host = domain.trim_start_matches('.');
        let Ok(url) = Url::parse(&format!("{scheme}://{host}/")) else {
            continue;
        };
        let mut line = format!("{name}={value}; Path={}", text("path").unwrap_or("/"));
        if is_secure {
            line.push_str("; Secure");
        }
        // Without the attribute, the cookie is of this host alone.
        if domain.starts_with('.') {
            line.push_str("; Domain=");
            line.push_str(host);
        }
        jar.store(&url, std::iter::once(line.as_str()));
    }
    jar
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cookie(domain: &str, value: &str) -> Map<String, Value> {
        let cookie = json!({"name": "a", "value": value, "domain": domain, "path": "/x",
            "expires": -1, "size": 2, "secure": true, "priority": "Medium"});
        cookie.as_object().unwrap().clone()
    }

    #[test]
    fn a_cookie_of_one_host_stays_with_it() {
        let set = settable(cookie("a.example", "1")).unwrap();
        let expected = json!({"name": "a", "value": "1", "path": "/x", "secure": true,
            "url": "https://a.example/"});
        assert_eq!(set, expected);
        let set = settable(cookie(".a.example", "1")).unwrap();
        assert_eq!(set["domain"], ".a.example");
        assert_eq!(set.get("url"), None);
    }

    #[test]
    fn a_fetch_sends_a_browsers_cookies_where_the_browser_would() {
        let mut wide = cookie(".b.example", "2");
        wide.insert("secure".to_owned(), json!(false));
        let jar = jar(&[cookie("a.example", "1"), wide]);
        let header = |url: &str| jar.header(&Url::parse(url).unwrap());
        for (url, sent) in [
            ("https://a.example/x/y", Some("a=1")),
            ("https://a.example/", None),
            ("http://a.example/x", None),
            ("https://sub.a.example/x", None),
            ("http://b.example/x", Some("a=2")),
            ("http://sub.b.example/x", Some("a=2")),
        ] {
            assert_eq!(header(url).as_deref(), sent, "{url}");
        }
    }

    #[test]
    fn a_session_is_bounded() {
        let session = SessionCookies::default();
        session.replace(vec![cookie("a.example", "1"); MAX_COOKIES + 1]);
        assert_eq!(session.0.lock().len(), MAX_COOKIES);
        session.replace(vec![cookie("a.example", &"x".repeat(4_000)); MAX_COOKIES]);
        assert!(session.0.lock().len() <= MAX_BYTES / 4_000);
        assert_eq!(
            format!("{session:?}"),
            format!("SessionCookies({})", session.0.lock().len())
        );
    }
}
