//! Target of a redirect or a refresh.

use http::header::{HeaderMap, LOCATION};
use orbweaver_core::content;
use orbweaver_core::guard::{Rule, join_strict};
use orbweaver_core::page::{Refresh, page_pass};
use orbweaver_core::page_source::page_source;
use percent_encoding::percent_encode_byte;
use url::Url;

use crate::error::{Fault, Kind, SubKind};
use crate::response::Response;

/// The single Location of a redirect.
pub(super) fn location(headers: &HeaderMap, status: u16) -> Result<String, Fault> {
    let mut locations = headers.get_all(LOCATION).iter();
    match (locations.next(), locations.next()) {
        (Some(location), None) if !location.as_bytes().trim_ascii().is_empty() => {
            Ok(as_sent(location.as_bytes()))
        }
        (Some(_), Some(_)) => Err(Fault::new(
            Kind::BadRedirect,
            SubKind::AmbiguousLocation,
            "a redirect with several Locations",
        )),
        _ => Err(Fault::new(
            Kind::BadRedirect,
            SubKind::NoLocation,
            format!("{status} without a Location"),
        )),
    }
}

/// A URL of a header. Bytes that are no UTF-8 stay what they are, as in browsers: a site that writes
/// its paths in an older encoding reads them in it.
fn as_sent(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut url = String::with_capacity(bytes.len() * 3);
    for &byte in bytes {
        match byte.is_ascii() {
            true => url.push(char::from(byte)),
            false => url.push_str(percent_encode_byte(byte)),
        }
    }
    url
}

/// The target of a Location or Refresh header.
pub(super) fn header_target(from: &Url, reference: &str) -> Result<Url, Fault> {
    join_strict(from, reference.trim_matches([' ', '\t'])).map_err(|refusal| match refusal.rule {
        Rule::InvalidUrl => Fault::new(
            Kind::BadRedirect,
            SubKind::InvalidLocation,
            format!("the redirect's target is {refusal}"),
        ),
        _ => refusal.into(),
    })
}

/// The URL that a page refreshes to: by its Refresh header, else by its `meta` element. `None`
/// if the page reloads itself.
pub(super) fn refresh_target(response: &Response, from: &Url) -> Result<Option<Url>, Fault> {
    if !(200..300).contains(&response.status) {
        return Ok(None);
    }
    if let Some(refresh) = response.headers.get("refresh").and_then(Refresh::parse) {
        let target = refresh.url.as_deref();
        return target.map(|target| header_target(from, target)).transpose();
    }
    let content_type = response.content_type();
    if content::sniff(content_type, &response.body).kind != content::Kind::Html {
        return Ok(None);
    }
    let page = page_source(&response.body, content_type);
    let refresh = page_pass(&page, &response.final_url).refresh;
    let Some(target) = refresh.and_then(|refresh| refresh.url) else {
        return Ok(None);
    };
    // Part of the page: resolved as browsers resolve links.
    from.join(&target).map(Some).map_err(|error| {
        Fault::new(
            Kind::BadRedirect,
            SubKind::InvalidLocation,
            format!("the refresh's target is not a URL: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_location_stay_what_they_are() {
        for (bytes, path) in [
            (&b"/caf\xe9"[..], "/caf%E9"),
            ("/café".as_bytes(), "/caf%C3%A9"),
            (b"/\xef\xf0?q=\xe8#x", "/%EF%F0?q=%E8#x"),
        ] {
            let from = Url::parse("http://a.example/x").unwrap();
            let target = header_target(&from, &as_sent(bytes)).unwrap();
            assert_eq!(target.as_str(), format!("http://a.example{path}"));
        }
    }
}
