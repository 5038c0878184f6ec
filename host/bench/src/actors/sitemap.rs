//! `sitemap-audit` of an index that names sitemaps with so many URLs.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use orbweaver_tests::program::{Launch, Program};
use serde_json::json;
use tokio::runtime::Runtime;

use super::site::Site;
use super::{Call, guest};
use crate::corpus;

/// URLs of one sitemap.
const EACH: usize = 10_000;
/// Length of a listed page.
const PAGE_BYTES: usize = 20_000;

pub fn run(runtime: &Runtime, launch: &Launch, urls: usize) -> Result<()> {
    let site = Site::start(
        runtime,
        Duration::ZERO,
        Some(corpus::page(PAGE_BYTES)),
        |address| files(address, urls),
    )?;
    let data = tempfile::tempdir()?;
    let program = Program::start(launch, data.path(), None)?;
    for dry_run in [true, false] {
        let input = json!({
            "url": site.url("/sitemap.xml"), "max_urls": urls, "dry_run": dry_run,
        });
        let call = Call::make(&program, "sitemap-audit", &input)?;
        let data = &call.answer["data"];
        ensure!(data["total_urls_in_sitemap"] == urls, "{data}");
        let (cpu, mib) = guest(&program, "sitemap-audit")?;
        println!(
            "sitemap-audit, {urls} URLs, dry_run {dry_run}: {}; {} probed, {}",
            call.figures(),
            data["total_urls_probed"],
            data["summary"]
        );
        println!(
            "  guest: CPU {:.2} s in all, peak {mib:.0} MiB",
            cpu.as_secs_f64()
        );
    }
    Ok(())
}

/// The index and its sitemaps, every second one compressed.
fn files(address: SocketAddr, urls: usize) -> Vec<(String, &'static str, Vec<u8>)> {
    const SPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
    let mut files = Vec::new();
    let mut index = String::new();
    for (at, first) in (0..urls).step_by(EACH).enumerate() {
        let list: String = (first..urls.min(first + EACH))
            .map(|n| {
                format!("<url><loc>http://{address}/articles/{n}/about-something</loc><lastmod>2026-03-01</lastmod></url>\n")
            })
            .collect();
        let map = format!("<urlset xmlns=\"{SPACE}\">{list}</urlset>").into_bytes();
        let (path, kind, map) = match at % 2 {
            0 => (format!("/map-{at}.xml"), "application/xml", map),
            _ => (
                format!("/map-{at}.xml.gz"),
                "application/gzip",
                packed(&map),
            ),
        };
        index.push_str(&format!(
            "<sitemap><loc>http://{address}{path}</loc></sitemap>"
        ));
        files.push((path, kind, map));
    }
    let index = format!("<sitemapindex xmlns=\"{SPACE}\">{index}</sitemapindex>");
    files.push((
        "/sitemap.xml".to_owned(),
        "application/xml",
        index.into_bytes(),
    ));
    files
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // A vector takes every byte.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
