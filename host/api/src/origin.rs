//! The check of `Origin`: the defence against DNS rebinding and cross-site requests.
//!
//! A browser sends `Origin` with every request that is no plain navigation (Fetch standard,
//! "append a request Origin header"). The origin of another site's page differs from the requested
//! one. A page whose name was rebound to this address has the requested origin, but its name is
//! not ours. Programs send no `Origin` and are not affected.

use http::uri::Authority;
use http::{HeaderMap, header};
use url::{Host, Url};

use crate::app::App;
use crate::error::ApiError;

/// Lets through requests without an `Origin`, and those of our own pages.
///
/// # Errors
/// 403 for a page of another site.
pub(crate) fn check(app: &App, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let public = app.settings.public_url.as_ref().map(|url| url.base());
    let host = headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok());
    let is_ours = origin
        .to_str()
        .is_ok_and(|origin| is_ours(origin, host, public));
    if is_ours {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "Origin: pages of other sites may not ask; a service that is reached by a name of its own \
         needs the setting public_url",
    ))
}

fn is_ours(origin: &str, host: Option<&str>, public: Option<&str>) -> bool {
    let Ok(origin) = Url::parse(origin) else {
        return false;
    };
    if let Some(public) = public.and_then(|public| Url::parse(public).ok())
        && public.origin() == origin.origin()
    {
        return true;
    }
    let Some(asked) = host.and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let (Some(page), Some(page_port)) = (origin.host(), origin.port_or_known_default()) else {
        return false;
    };
    // A name can be rebound; an address and `localhost` can't.
    let is_fixed = match &page {
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    };
    let default_port = if origin.scheme() == "https" { 443 } else { 80 };
    is_fixed
        && asked.host().eq_ignore_ascii_case(&page.to_string())
        && asked.port_u16().unwrap_or(default_port) == page_port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_may_ask() {
        for (origin, host, public, expected) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080", None, true),
            ("http://localhost:8080", "localhost:8080", None, true),
            ("http://[::1]:8080", "[::1]:8080", None, true),
            ("http://192.0.2.7", "192.0.2.7", None, true),
            // Another port, host or scheme is another site.
            ("http://127.0.0.1:9090", "127.0.0.1:8080", None, false),
            ("http://localhost:8080", "127.0.0.1:8080", None, false),
            ("https://evil.example", "127.0.0.1:8080", None, false),
            // A name that was rebound to this address.
            ("http://evil.example:8080", "evil.example:8080", None, false),
            ("null", "127.0.0.1:8080", None, false),
            ("", "127.0.0.1:8080", None, false),
            (
                "https://crawl.example",
                "crawl.example",
                Some("https://crawl.example"),
                true,
            ),
            (
                "http://crawl.example",
                "crawl.example",
                Some("https://crawl.example"),
                false,
            ),
        ] {
            assert_eq!(is_ours(origin, Some(host), public), expected, "{origin}");
        }
    }
}
