//! Audits stored pages as if a client had fetched them, and measures the time:
//! `cargo run --release --example pages -- URL=FILE.html[.gz] …`. The headers are those of a site
//! that sets them all; robots.txt allows everything.

#![expect(clippy::expect_used, reason = "a tool fails by panicking")]

use std::io::Read;
use std::time::Instant;

use orbweaver_actor_audit_onpage::{RobotsFile, audit};
use orbweaver_sdk::testing::Document;

fn read(path: &str) -> String {
    let bytes = std::fs::read(path).expect("a file");
    let mut text = Vec::new();
    match path.ends_with(".gz") {
        true => {
            let mut decoder = flate2::read::GzDecoder::new(bytes.as_slice());
            decoder.read_to_end(&mut text).expect("gzip")
        }
        false => bytes.as_slice().read_to_end(&mut text).expect("memory"),
    };
    String::from_utf8_lossy(&text).into_owned()
}

fn main() {
    for argument in std::env::args().skip(1) {
        let (path, url) = argument
            .rsplit_once('=')
            .map_or((argument.as_str(), ""), |(url, path)| (path, url));
        let document = Document::new(url, &read(path))
            .header("content-type", "text/html; charset=utf-8")
            .header("strict-transport-security", "max-age=1")
            .header("content-security-policy", "frame-ancestors 'self'")
            .header("x-content-type-options", "nosniff");
        let page = document.page();
        let start = Instant::now();
        let output = audit(&page, &RobotsFile::Missing).expect("an audit");
        let took = start.elapsed();
        println!(
            "\n## {url} ({} KB, {} µs)",
            page.size() / 1024,
            took.as_micros()
        );
        println!("{:?}", output.stats);
        for finding in &output.findings {
            println!(
                "{:?} {} {:?} {}",
                finding.severity, finding.rule, finding.count, finding.message
            );
            for sample in finding.samples.iter().take(4) {
                println!("      {}", sample.replace('\n', " "));
            }
        }
    }
}
