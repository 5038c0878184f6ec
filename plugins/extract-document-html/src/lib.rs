//! The `document-html` role: a PDF, a text document or a feed as HTML, which every other role
//! then reads as it reads a page.

mod feed;
mod html;
mod office;
mod pdf;
mod xml;

use orbweaver_sdk::json::Writer;
use orbweaver_sdk::{Error, Page};

orbweaver_sdk::extractor! { roles: { "document-html" => extract } }

/// A converted document.
#[derive(Debug)]
pub(crate) struct Converted {
    /// The HTML of the whole document.
    pub(crate) html: String,
    /// `pdf`, `docx`, `odt`, `rss`, `atom` or `json-feed`.
    pub(crate) format: &'static str,
    /// What was converted, for the answer's `notice`.
    pub(crate) notice: String,
}

/// Bytes in which a PDF's signature may begin: readers accept it that late (ISO 32000-1, annex H).
const PDF_HEADER: usize = 1024;

/// The document as HTML: `{"html", "format", "notice"}`.
///
/// # Errors
/// The body is none of the formats, is encrypted, or is too damaged to be read.
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let body = page.body();
    let head = body.get(..PDF_HEADER).unwrap_or(&body);
    let converted = if head.windows(5).any(|bytes| bytes == b"%PDF-") {
        pdf::convert(body)?
    } else if body.starts_with(b"PK") {
        office::convert(&body)?
    } else {
        drop(body);
        feed::convert(page.html(), page.final_url())?
    };
    let mut json = Writer::with_capacity(converted.html.len() + converted.html.len() / 8 + 256);
    json.begin_object();
    json.key("html").string(&converted.html);
    json.key("format").string(converted.format);
    json.key("notice").string(&converted.notice);
    json.end_object();
    Ok(json.finish())
}
