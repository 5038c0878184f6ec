//! Documents converted to HTML. Every file is made by its test.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod feeds;
mod hostile;
mod office;
mod office_notes;
mod office_numbers;
mod office_tables;
mod pdf;
mod pdf_file;

use orbweaver_sdk::Error;
use orbweaver_sdk::serde_json::{Value, from_str};
use orbweaver_sdk::testing::Document;

/// The HTML and the notice of a document.
fn convert(body: &[u8]) -> Result<(String, String), Error> {
    let text = String::from_utf8_lossy(body);
    let document = Document::new("https://example.org/file", &text).body(body);
    let json = orbweaver_extract_document_html::extract(&document.into_page(), "")?;
    let json: Value = from_str(&json).expect("JSON");
    let text = |name: &str| json[name].as_str().expect(name).to_owned();
    Ok((text("html"), text("notice")))
}

fn html(body: &[u8]) -> String {
    convert(body).expect("a document").0
}

/// Why a document was refused.
fn refusal(body: &[u8]) -> String {
    match convert(body) {
        Ok((html, notice)) => panic!("it was converted ({notice}): {html}"),
        Err(error) => error.message().to_owned(),
    }
}
