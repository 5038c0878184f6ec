//! Tells a proxy's own answers from those of the site behind it.
//!
//! Within a tunnel (https, SOCKS) the site alone speaks. A plain http request goes to an HTTP
//! proxy whole, and its answer to us looks like the site's. It is taken for the proxy's where
//!
//! - its status is 407, which only a proxy gives (RFC 9110, section 15.5.8);
//! - it refuses us and carries `Proxy-Authenticate`, which is for the next hop only (11.7.1);
//! - it names a proxy as its `Server` and carries no `Via`: tinyproxy answers wrong
//!   credentials with 401 and unreachable sites with 500 like that, and adds `Via` to what it
//!   forwards. A site behind a proxy without `Via` could pass itself off as one; what it gains
//!   is that it is tried again through the pool's next proxy, and no page.
//!
//! A proxy that answers 401 in another way can't be told from a site that asks for a password.

use http::StatusCode;
use http::header::{HeaderMap, PROXY_AUTHENTICATE, SERVER, VIA};
use url::Url;

use crate::error::{Fault, Kind, SubKind};
use crate::proxy::ProxyUrl;

/// Why the proxy gives no page, where an answer is its own.
pub(crate) fn refusal(
    proxy: &ProxyUrl,
    target: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Option<Fault> {
    if target.scheme() != "http" || !proxy.resolves_names() {
        return None;
    }
    let refuses = matches!(status.as_u16(), 401 | 403);
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
        || (refuses && headers.contains_key(PROXY_AUTHENTICATE))
    {
        return Some(wrong_credentials());
    }
    let server = headers.get(SERVER).map_or(&b""[..], |name| name.as_bytes());
    let is_tinyproxy = server.split(|&byte| byte == b'/').next() == Some(b"tinyproxy");
    if !is_tinyproxy || headers.contains_key(VIA) {
        return None;
    }
    if status == StatusCode::UNAUTHORIZED {
        return Some(wrong_credentials());
    }
    let why = format!("the proxy gives no connection: it answers {status}");
    Some(Fault::new(Kind::Proxy, SubKind::Other, why).retryable())
}

/// The fault of credentials that the proxy refuses.
pub(crate) fn wrong_credentials() -> Fault {
    Fault::new(
        Kind::Proxy,
        SubKind::Auth,
        "the proxy refuses our credentials",
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::HeaderName;

    use super::*;

    fn judged(proxy: &str, target: &str, status: u16, head: &[(HeaderName, &str)]) -> String {
        let headers = head
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect();
        refusal(
            &proxy.parse().unwrap(),
            &target.parse().unwrap(),
            StatusCode::from_u16(status).unwrap(),
            &headers,
        )
        .map_or_else(String::new, |fault| fault.message)
    }

    #[test]
    fn a_proxys_answers_are_told_from_a_sites() {
        const AUTH: &str = "the proxy refuses our credentials";
        const DOWN: &str = "the proxy gives no connection: it answers 500 Internal Server Error";
        let (tiny, ask) = ((SERVER, "tinyproxy/1.11.1"), (PROXY_AUTHENTICATE, "Basic"));
        let via = (VIA, "1.1 gate (tinyproxy/1.11.1)");
        let site = (SERVER, "nginx");
        let (http, https) = ("http://a.example/", "https://a.example/");
        for (proxy, target, status, head, says) in [
            ("http://p", http, 407, vec![], AUTH),
            ("https://p", http, 407, vec![], AUTH),
            ("http://p", http, 401, vec![ask.clone()], AUTH),
            ("http://p", http, 401, vec![tiny.clone()], AUTH),
            ("http://p", http, 500, vec![tiny.clone()], DOWN),
            // The site's.
            ("http://p", http, 401, vec![site.clone()], ""),
            ("http://p", http, 401, vec![site, via.clone()], ""),
            ("http://p", http, 401, vec![tiny.clone(), via], ""),
            ("http://p", http, 200, vec![ask], ""),
            ("http://p", http, 500, vec![(SERVER, "tinyproxys")], ""),
            ("http://p", https, 407, vec![], ""),
            ("socks5://p", http, 407, vec![tiny], ""),
        ] {
            assert_eq!(
                judged(proxy, target, status, &head),
                says,
                "{proxy} {target} {status}"
            );
        }
    }
}
