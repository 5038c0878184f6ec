//! Helpers for requests to payment and challenge services.

use bytes::Bytes;

/// `User-Agent` of these requests.
pub(crate) const AGENT: &str = concat!("Orbweaver/", env!("CARGO_PKG_VERSION"));

/// An `application/x-www-form-urlencoded` body.
pub(crate) fn form(fields: &[(&str, &str)]) -> Bytes {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    form.finish().into_bytes().into()
}
