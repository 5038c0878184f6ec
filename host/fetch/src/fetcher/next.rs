//! Where a redirect or a refresh leads.

use http::header::{HeaderMap, LOCATION};
use orbweaver_core::guard::{Rule, join_strict};
use orbweaver_core::page::{Refresh, page_pass};
use orbweaver_core::{charset, content};
use url::Url;

use crate::error::{Fault, Kind, SubKind};
use crate::response::{Response, text};

/// The single Location of a redirect.
pub(super) fn location(headers: &HeaderMap, status: u16) -> Result<String, Fault> {
    let mut locations = headers.get_all(LOCATION).iter();
    match (locations.next(), locations.next()) {
        (Some(location), None) if !location.as_bytes().trim_ascii().is_empty() => {
            Ok(text(location.as_bytes()))
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
    let page = charset::decode(&response.body, content_type, charset::Limits::default());
    let refresh = page_pass(&page.text, &response.final_url).refresh;
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
