//! The base URL of this API, for links in answers.

use http::uri::Authority;
use http::{HeaderMap, header};

use crate::app::App;
use crate::scope::Scope;

/// The configured address, else the one that the API listens on; without a slash at its end.
///
/// The request's `Host` is used only if the request comes from this machine or a trusted proxy.
/// Otherwise a page of a stranger could choose the host of the links in answers.
pub(super) fn base_url(app: &App, scope: &Scope, headers: &HeaderMap) -> String {
    if let Some(url) = &app.settings.public_url {
        return url.base().to_owned();
    }
    let scheme = if app.settings.serves_tls {
        "https"
    } else {
        "http"
    };
    match believed_host(scope.is_peer_trusted(), headers) {
        Some(authority) => format!("{scheme}://{authority}"),
        None => format!("{scheme}://{}", app.settings.listen),
    }
}

fn believed_host(is_peer_trusted: bool, headers: &HeaderMap) -> Option<Authority> {
    headers
        .get(header::HOST)
        .filter(|_| is_peer_trusted)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<Authority>().ok())
        .filter(|authority| !authority.as_str().contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_header_is_believed_of_trusted_peers_alone() {
        let host = |value: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, value.parse().unwrap())]);
            [true, false].map(|trusted| {
                believed_host(trusted, &headers).map(|authority| authority.to_string())
            })
        };
        let named = |name: &str| [Some(name.to_owned()), None];
        assert_eq!(host("api.example:8443"), named("api.example:8443"));
        assert_eq!(host("[::1]:80"), named("[::1]:80"));
        for malformed in ["api.example@evil.example", "a/b", "a b", ""] {
            assert_eq!(host(malformed), [None, None], "{malformed}");
        }
    }
}
