//! The state of a fetch between redirects: its target and the request to send.

use bytes::Bytes;
use http::Method;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, COOKIE, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};
use orbweaver_core::guard::Target;
use orbweaver_core::header_rule::is_framing;
use url::Url;

use crate::client::{Outgoing, outgoing};
use crate::cookies::CookieJar;
use crate::error::{Fault, Kind};
use crate::request::Request;
use crate::response::Hop;

/// The state of a fetch.
pub(crate) struct HopState {
    pub target: Target,
    pub method: Method,
    body: Option<Bytes>,
    pub headers: HeaderMap,
    cookies: Option<String>,
    pub jar: CookieJar,
    pub redirects: Vec<Hop>,
}

/// The headers of a request without its cookies: the defaults, overridden by those given.
fn headers(request: &Request, user_agent: &str) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, header_value("user-agent", user_agent)?);
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    );
    headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("en-US,en;q=0.9"));
    headers.insert(
        ACCEPT_ENCODING,
        HeaderValue::from_static("gzip, deflate, br, zstd"),
    );
    let mut given: Vec<HeaderName> = Vec::new();
    for (name, value) in &request.headers {
        let invalid = || {
            let message = format!("{name:?} is not a header that can be set");
            Fault::new(Kind::InvalidRequest, None, message)
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        if is_framing(name.as_str()) {
            return Err(invalid());
        }
        let value = header_value(name.as_str(), value)?;
        if name == COOKIE {
            continue;
        }
        if given.contains(&name) {
            headers.append(name, value);
        } else {
            headers.insert(name.clone(), value);
            given.push(name);
        }
    }
    Ok(headers)
}

/// The caller's cookies: those given as cookies, and those in headers. They are no header here, so
/// that others join them instead of replacing them.
pub(crate) fn given_cookies(cookies: Option<&str>, headers: &[(String, String)]) -> Option<String> {
    let in_headers = headers.iter().filter(|header| is_cookie(header));
    let given: Vec<&str> = cookies
        .into_iter()
        .chain(in_headers.map(|(_, value)| value.as_str()))
        .map(|cookies| cookies.trim_matches([';', ' ']))
        .filter(|cookies| !cookies.is_empty())
        .collect();
    (!given.is_empty()).then(|| given.join("; "))
}

/// Whether a header of the caller is one of cookies.
pub(crate) fn is_cookie((name, _): &(String, String)) -> bool {
    name.eq_ignore_ascii_case(COOKIE.as_str())
}

impl HopState {
    /// Starts with `request`, whose URL the guard parsed as `target`.
    pub fn new(request: &Request, target: Target, user_agent: &str) -> Result<Self, Fault> {
        Ok(Self {
            target,
            method: request.method.clone(),
            body: request.body.clone(),
            headers: headers(request, user_agent)?,
            cookies: given_cookies(request.cookies.as_deref(), &request.headers),
            jar: request.jar.clone().unwrap_or_default(),
            redirects: Vec::new(),
        })
    }

    /// The request of the next exchange.
    pub fn request(&self) -> Result<Outgoing, Fault> {
        let mut headers = self.headers.clone();
        if let Some(cookies) = self.cookie_header() {
            headers.insert(COOKIE, header_value("cookie", &cookies)?);
        }
        let method = self.method.clone();
        outgoing(method, &self.target.url, headers, self.body.clone())
    }

    /// Whether the request is conditional (RFC 9110, section 13).
    pub fn is_conditional(&self) -> bool {
        let validators = ["if-none-match", "if-modified-since"];
        validators
            .iter()
            .any(|name| self.headers.contains_key(*name))
    }

    /// The caller's cookies and the jar's; the caller's win.
    fn cookie_header(&self) -> Option<String> {
        let kept = self.jar.header(&self.target.url);
        match (&self.cookies, kept) {
            (None, kept) => kept,
            (Some(given), None) => Some(given.clone()),
            (Some(given), Some(kept)) => {
                let names: Vec<&str> = given.split(';').map(cookie_name).collect();
                let rest = kept
                    .split("; ")
                    .filter(|pair| !names.contains(&cookie_name(pair)));
                Some(rest.fold(given.clone(), |all, pair| all + "; " + pair))
            }
        }
    }

    /// Moves to the target of a redirect or refresh. Method and body change as in the Fetch
    /// standard; headers meant for one site are not sent to another.
    pub fn turn(&mut self, target: Target, status: u16) {
        let from = std::mem::replace(&mut self.target, target);
        let (here, there) = (&from.url, &self.target.url);
        self.redirects.push(Hop {
            url: here.to_string(),
            status,
            downgrade: here.scheme() == "https" && there.scheme() == "http",
        });
        let becomes_get = match status {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            307 | 308 => false,
            // A page's refresh.
            _ => true,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            let content: Vec<HeaderName> = self
                .headers
                .keys()
                .filter(|name| name.as_str().starts_with("content-"))
                .cloned()
                .collect();
            for name in content {
                self.headers.remove(name);
            }
        }
        // They are of the page that redirects (RFC 9110, section 15.4). A redirect to the same URL asks
        // for the same page again.
        if without_fragment(here) != without_fragment(there) {
            for name in CONDITIONS {
                self.headers.remove(name);
            }
        }
        if !is_same_site(here, there) {
            self.cookies = None;
            let personal: Vec<HeaderName> = self
                .headers
                .keys()
                .filter(|name| !is_impersonal(name.as_str()))
                .cloned()
                .collect();
            for name in personal {
                self.headers.remove(name);
            }
        }
    }
}

fn cookie_name(pair: &str) -> &str {
    pair.split('=').next().unwrap_or(pair).trim()
}

/// Headers of conditional requests (RFC 9110, section 13.1).
const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
];

/// A URL as it is sent.
fn without_fragment(url: &Url) -> &str {
    let fragment = url.fragment().map_or(0, |fragment| fragment.len() + 1);
    let sent = url.as_str();
    &sent[..sent.len() - fragment]
}

/// Whether credentials for `from` may be sent to `to`: the same origin, or the same host
/// upgraded from http to https on the default ports.
pub fn is_same_site(from: &Url, to: &Url) -> bool {
    let upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port().is_none()
        && to.port().is_none();
    from.host() == to.host()
        && (upgrade
            || (from.scheme() == to.scheme()
                && from.port_or_known_default() == to.port_or_known_default()))
}

/// Whether a header holds nothing personal and may be sent to another site. All others stay
/// with the site they were given for, since an `x-api-key` is as secret as an `authorization`.
pub fn is_impersonal(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "user-agent"
            | "accept"
            | "accept-language"
            | "accept-encoding"
            | "cache-control"
            | "pragma"
            | "dnt"
            | "content-type"
            | "content-language"
            | "upgrade-insecure-requests"
            | "save-data"
    )
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, Fault> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        Fault::new(
            Kind::InvalidRequest,
            None,
            format!("the value of {name} can't be sent in a header"),
        )
    })
}
