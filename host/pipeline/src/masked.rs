//! Answers to requests that had secrets: the values are taken out before a plugin sees them.

use std::sync::Arc;

use bytes::Bytes;
use orbweaver_core::mask;
use orbweaver_engine::{Page, PageParts};
use orbweaver_fetch::Response;

use crate::document::Document;

/// A response as a page for plugins in which these values are replaced: in the body and in the text that it
/// is decoded to, in headers and URLs. CPU-bound.
pub fn page_without(values: &[String], response: Response, cost_usd: f64) -> Arc<Page> {
    let text = |text: &str| mask::text(text, values).unwrap_or_else(|| text.to_owned());
    let headers = response.headers.iter();
    // A value in a header's name is in lower case, as every name is.
    let lower: Vec<String> = values.iter().map(|value| value.to_lowercase()).collect();
    let name = |name: &str| mask::text(name, &lower).unwrap_or_else(|| name.to_owned());
    let headers = headers.map(|(of, value)| (name(of), text(value)));
    let headers = headers.collect();
    let redirects = response.redirects.into_iter().map(|mut hop| {
        hop.url = text(&hop.url);
        hop
    });
    let response = Response {
        final_url: text(&response.final_url),
        headers,
        redirects: redirects.collect(),
        body: mask::bytes(&response.body, values).map_or(response.body, Bytes::from),
        raw: None,
        ..response
    };
    let page = Document::page_without_storing(response, cost_usd);
    let parts = page.parts();
    if values.is_empty() || *parts.body == *parts.html.as_bytes() {
        return page;
    }
    // The text is of another charset, in which the body may have a value that only decoding shows. Whoever
    // gets the body can decode it, too, so it is replaced as well.
    let Some(html) = mask::text(&parts.html, values) else {
        return page;
    };
    let html: Arc<str> = html.into();
    Page::new(PageParts {
        body: Arc::clone(&html).into(),
        html,
        ..parts.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(content_type: &str, body: Vec<u8>) -> Response {
        Response {
            url: "https://e.org/".to_owned(),
            final_url: "https://e.org/?k=s%26cret".to_owned(),
            status: 200,
            headers: [("content-type", content_type), ("x-echo", "Bearer s&cret")]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            redirects: Vec::new(),
            body: body.into(),
            raw: None,
            truncated: false,
            wire_bytes: 0,
            timings: orbweaver_fetch::Timings::default(),
            remote_addr: None,
        }
    }

    fn utf16(text: &str) -> Vec<u8> {
        let text = format!("\u{feff}{text}");
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_value_is_in_no_part_of_a_page_whatever_its_charset() {
        let values = ["s&cret".to_owned()];
        let html = "<p>Ein schöner Satz: s&amp;cret und s&cret und s%26cret</p>";
        let latin = html.chars().map(|c| u8::try_from(u32::from(c)).unwrap());
        for (content_type, body) in [
            ("text/html; charset=utf-8", html.as_bytes().to_vec()),
            ("text/html; charset=iso-8859-1", latin.collect()),
            ("text/html; charset=utf-16", utf16(html)),
        ] {
            let page = page_without(&values, answer(content_type, body), 0.0);
            let parts = page.parts();
            assert!(parts.html.contains("Satz"), "{content_type}");
            assert!(
                !parts.html.contains("cret"),
                "{content_type}: {}",
                parts.html
            );
            let body: Vec<u8> = parts.body.iter().copied().filter(|b| *b != 0).collect();
            let body = String::from_utf8_lossy(&body);
            assert!(!body.contains("cret"), "{content_type}: {body}");
            assert_eq!(parts.final_url, "https://e.org/?k=********");
            let echo = parts.headers.iter().find(|(name, _)| name == "x-echo");
            assert_eq!(echo.unwrap().1, "Bearer ******");
        }
    }

    #[test]
    fn a_value_is_in_no_name_of_a_header() {
        let response = Response {
            headers: [("x-t0ken-of-mine", "1"), ("server", "x")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter()
                .collect(),
            ..answer("text/html", Vec::new())
        };
        let page = page_without(&["T0ken-of-Mine".to_owned()], response, 0.0);
        let names = page.parts().headers.iter().map(|(name, _)| name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["x-*************", "server"]);
    }

    #[test]
    fn a_page_without_the_values_stays_as_it_is() {
        let html = "<p>Ein schöner Satz</p>";
        for (content_type, body) in [
            ("text/html; charset=utf-8", html.as_bytes().to_vec()),
            ("text/html; charset=utf-16", utf16(html)),
        ] {
            let kept = body.clone();
            let page = page_without(&["other".to_owned()], answer(content_type, body), 0.0);
            assert_eq!(*page.parts().body, *kept);
            assert_eq!(&*page.parts().html, html);
        }
    }
}
