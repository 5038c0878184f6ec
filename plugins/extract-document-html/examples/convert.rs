//! Converts files and prints their HTML: `cargo run --example convert -- FILE…`.

use std::io::Write as _;

use orbweaver_sdk::serde_json::Value;
use orbweaver_sdk::testing::Document;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let document = Document::new("https://example.org/file", &text).body(body);
        let page = document.into_page();
        let started = std::time::Instant::now();
        let answer = orbweaver_extract_document_html::extract(&page, "");
        let took = started.elapsed();
        match answer {
            Ok(json) => {
                let json: Value = orbweaver_sdk::serde_json::from_str(&json)?;
                let (html, notice) = (json["html"].as_str(), json["notice"].as_str());
                writeln!(
                    std::io::stderr(),
                    "{path}: {} in {took:?}",
                    notice.unwrap_or("")
                )?;
                writeln!(std::io::stdout(), "{}", html.unwrap_or(""))?;
            }
            Err(error) => writeln!(std::io::stderr(), "{path}: {error:?} in {took:?}")?,
        }
    }
    Ok(())
}
