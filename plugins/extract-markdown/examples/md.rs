//! Converts a file of HTML (`.html` or `.html.gz`) to Markdown.
//!
//! `cargo run --example md -- FILE [--base URL] [--main]`

use std::io::{Read, Write};

use orbweaver_extract_markdown::{Options, markdown};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = None;
    let mut base = String::new();
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--main" => options.only_main_content = true,
            "--base" => base = arguments.next().ok_or("--base needs a URL")?,
            _ => file = Some(argument),
        }
    }
    let file = file.ok_or("usage: md FILE [--base URL] [--main]")?;
    let mut bytes = std::fs::read(&file)?;
    if file.ends_with(".gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
        bytes = plain;
    }
    let snapshot = orbweaver_sdk::dom::parse(&String::from_utf8_lossy(&bytes));
    let mut out = std::io::stdout().lock();
    out.write_all(markdown(&snapshot.view()?, &base, &options).as_bytes())?;
    Ok(out.write_all(b"\n")?)
}
