//! Measures the streaming pass over a folder of pages (`.html`, or `.html.gz`) and compares
//! its links with those of the `links` plugin.
//!
//!     cargo run --release -p orbweaver-core --example page_pass -- FOLDER...

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::time::Instant;

use orbweaver_core::charset::{self, Limits};
use orbweaver_core::page::page_pass;
use orbweaver_sdk::serde_json::{Value, from_str};
use orbweaver_sdk::testing::Document;

const URL: &str = "https://example.org/a/page.html?q=1";
const ROUNDS: usize = 5;

fn read(folders: impl Iterator<Item = String>) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut pages = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let raw = fs::read(&path)?;
            let mut html = Vec::new();
            if raw.starts_with(&[0x1f, 0x8b]) {
                flate2::read::MultiGzDecoder::new(raw.as_slice()).read_to_end(&mut html)?;
            } else {
                html = raw;
            }
            let text = charset::decode(&html, Some("text/html"), Limits::default())
                .text
                .into_owned();
            pages.push((path.display().to_string(), text));
        }
    }
    Ok(pages)
}

/// Distinct link targets: a tree repeats a link that is not closed before a block.
fn targets(html: &str) -> Result<(BTreeSet<String>, BTreeSet<String>), Box<dyn Error>> {
    let pass = page_pass(html, URL)
        .links
        .iter()
        .map(|link| link.to.to_owned())
        .collect();
    let document = Document::new(URL, html);
    let links = orbweaver_extract_links::extract(&document.page(), "")
        .map_err(|error| format!("{error:?}"))?;
    let links: Vec<Value> = from_str(&links)?;
    let plugin = links
        .iter()
        .filter_map(|link| link["to"].as_str())
        .map(str::to_owned)
        .collect();
    Ok((pass, plugin))
}

fn main() -> Result<(), Box<dyn Error>> {
    let pages = read(std::env::args().skip(1))?;
    let bytes: usize = pages.iter().map(|(_, html)| html.len()).sum();
    println!("{} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
    let mut different = 0;
    for (name, html) in &pages {
        let (pass, plugin) = targets(html)?;
        if pass != plugin {
            different += 1;
            println!(
                "{name}: {:?}",
                pass.symmetric_difference(&plugin)
                    .take(3)
                    .collect::<Vec<_>>()
            );
        }
    }
    println!("{different} pages whose links differ from the plugin's");
    for _ in 0..ROUNDS {
        #[expect(clippy::disallowed_methods, reason = "measures")]
        let started = Instant::now();
        let links: usize = pages
            .iter()
            .map(|(_, html)| page_pass(html, URL).links.len())
            .sum();
        println!(
            "{:.0} MB/s, {links} links",
            bytes as f64 / 1e6 / started.elapsed().as_secs_f64()
        );
    }
    Ok(())
}
