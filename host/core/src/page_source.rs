//! The text of an HTML page, as its reader takes it.

mod xhtml;

use std::borrow::Cow;

use crate::charset;
use crate::content;

/// A page's text, from its body and its `Content-Type`. Elements of XHTML that have no content
/// (`<script src="a.js"/>`) get an end tag: HTML's rules, by which pages are read, know none of them,
/// and would take what follows for their content.
pub fn page_source<'a>(body: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    let text = charset::decode(body, content_type, charset::Limits::default()).text;
    let essence = content_type.and_then(content::essence);
    match essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/xhtml+xml")) {
        true => xhtml::as_html(text),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_xhtml_is_changed() {
        let body = b"<div/><p>a";
        for (content_type, expected) in [
            (None, "<div/><p>a"),
            (Some("text/html"), "<div/><p>a"),
            (
                Some("Application/XHTML+xml; charset=utf-8"),
                "<div></div><p>a",
            ),
        ] {
            assert_eq!(page_source(body, content_type), expected);
        }
    }
}
