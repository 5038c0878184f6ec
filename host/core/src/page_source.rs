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
    match is_xhtml(body, content_type) {
        true => xhtml::as_html(text),
        false => text,
    }
}

/// Whether a body is XHTML: so declared, or a page in XML.
fn is_xhtml(body: &[u8], content_type: Option<&str>) -> bool {
    let Some(essence) = content_type.and_then(content::essence) else {
        return false;
    };
    match essence.to_ascii_lowercase().as_str() {
        "application/xhtml+xml" => true,
        "text/xml" | "application/xml" => {
            content::sniff(content_type, body).kind == content::Kind::Html
        }
        _ => false,
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
        let page = |root: &str| format!("<{root} xmlns='http://www.w3.org/1999/xhtml'><div/>");
        let closed = |root: &str| page(root).replace("<div/>", "<div></div>");
        let xml = Some("text/xml; charset=utf-8");
        assert_eq!(page_source(page("html").as_bytes(), xml), closed("html"));
        assert_eq!(page_source(page("other").as_bytes(), xml), page("other"));
    }
}
