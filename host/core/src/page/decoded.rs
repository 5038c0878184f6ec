//! Texts of a page's source as a reader sees them.

use std::borrow::Cow;

use orbweaver_markup::{Place, decode_into, is_encoded};

use super::hash::collapse;

/// The value of an attribute as it stands in the source, its character references decoded.
pub(super) fn decoded(attribute: &str) -> Cow<'_, str> {
    decoded_in(attribute, Place::Attribute)
}

/// A text of the source, its character references decoded.
pub(super) fn decoded_text(text: &str) -> Cow<'_, str> {
    decoded_in(text, Place::Text)
}

/// A part of the source, its character references decoded as at this place.
pub(super) fn decoded_in(source: &str, place: Place) -> Cow<'_, str> {
    if !is_encoded(source, place) {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len());
    decode_into(source, place, &mut out);
    Cow::Owned(out)
}

/// A text with one space between its words.
pub(super) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    collapse(text, &mut false, &mut false, &mut out);
    out
}
