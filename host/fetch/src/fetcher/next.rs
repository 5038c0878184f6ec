//! Target of a redirect.

use http::header::{HeaderMap, LOCATION};
use orbweaver_core::guard::{Rule, join_strict};
use percent_encoding::percent_encode_byte;
use url::Url;

use crate::error::{Fault, Kind, SubKind};

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
