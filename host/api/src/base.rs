//! Where clients reach this API, for links in answers.

use http::uri::Authority;
use http::{HeaderMap, header};

use crate::app::App;
use crate::scope::Scope;

/// The configured address, else the one that the API listens on; without a slash at its end.
///
/// The request's `Host` is believed only of this machine and of trusted proxies: of others it
/// would let a stranger's page name the address that links in answers lead to.
pub(super) fn base_url(app: &App, scope: &Scope, headers: &HeaderMap) -> String {
    if let Some(url) = &app.settings.public_url {
        return url.base().to_owned();
    }
    let scheme = if app.settings.serves_tls {
        "https"
    } else {
        "http"
    };
    let host = headers
        .get(header::HOST)
        .filter(|_| scope.is_peer_trusted())
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<Authority>().ok())
        .filter(|authority| !authority.as_str().contains('@'));
    match host {
        Some(authority) => format!("{scheme}://{authority}"),
        None => format!("{scheme}://{}", app.settings.listen),
    }
}
