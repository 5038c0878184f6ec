//! Distinguishes a proxy's own responses from those of the site behind it.
//!
//! In a tunnel (https, SOCKS) only the site responds. A plain http request is sent to the HTTP
//! proxy itself, so its response looks like the site's. It counts as the proxy's if
//!
//! - its status is 407, which only proxies send (RFC 9110, section 15.5.8);
//! - it denies access and has `Proxy-Authenticate`, which is for the next hop only (11.7.1);
//! - it names a proxy as its `Server` and has no `Via`: tinyproxy answers wrong credentials with
//!   401 and unreachable sites with 500 in this form, and adds `Via` to forwarded responses. A
//!   site behind a proxy without `Via` could imitate this; it would only make the request be
//!   retried through the pool's next proxy.
//!
//! A proxy that answers 401 in another form cannot be told from a site that wants a password.

use http::StatusCode;
use http::header::{HeaderMap, PROXY_AUTHENTICATE, SERVER, VIA};
use url::Url;

use crate::error::{Fault, Kind, SubKind};
use crate::proxy::ProxyUrl;

/// Why the proxy failed, if the response is the proxy's own.
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

/// The fault of a connection that could not be made: behind a proxy, it is the one to the proxy.
pub(crate) fn connecting(proxy: Option<&ProxyUrl>, fault: Fault) -> Fault {
    if proxy.is_none() || fault.kind != Kind::Connect {
        return fault;
    }
    let why = match fault.sub {
        Some(SubKind::Refused) => "it refuses connections",
        Some(SubKind::Reset) => "it reset the connection",
        Some(SubKind::Unreachable) => "there is no route to it",
        _ => fault.message.as_str(),
    };
    Fault {
        kind: Kind::Proxy,
        message: format!("the proxy gives no connection: {why}"),
        ..fault
    }
}

/// The fault of rejected credentials.
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
    fn responses_of_a_proxy_and_of_a_site_are_distinguished() {
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
            // Responses of the site.
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
