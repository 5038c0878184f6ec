//! Where clients reach this API, for links in answers.

use http::uri::Authority;
use http::{HeaderMap, header};

use crate::app::App;

/// The configured address, else what the request was sent to; without a slash at its end.
pub(super) fn base_url(app: &App, headers: &HeaderMap) -> String {
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
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<Authority>().ok())
        .filter(|authority| !authority.as_str().contains('@'));
    match host {
        Some(authority) => format!("{scheme}://{authority}"),
        None => format!("{scheme}://{}", app.settings.listen),
    }
}
