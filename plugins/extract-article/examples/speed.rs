//! Time per page of the extractor, natively, beside parsing.
//!
//! ```text
//! cargo run --release -p orbweaver-extract-article --example speed -- FOLDER [ROUNDS]
//! ```
//!
//! The folder holds `html/*.html.gz`. Each page is parsed and extracted `ROUNDS` times in
//! turn (default 9); the medians of each page are taken, then the median over the pages.

use std::error::Error;
use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

use orbweaver_extract_article::extract;
use orbweaver_sdk::Page;
use orbweaver_sdk::testing::Document;

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("usage: speed FOLDER [ROUNDS]")?);
    let rounds: usize = args.next().map_or(Ok(9), |n| n.parse())?;
    let (mut parse, mut work, mut share, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for file in std::fs::read_dir(folder.join("html"))? {
        let mut html = Vec::new();
        flate2::read::MultiGzDecoder::new(std::fs::File::open(file?.path())?)
            .read_to_end(&mut html)?;
        let html = String::from_utf8_lossy(&html).into_owned();
        bytes += html.len();
        let (mut parses, mut works) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let begin = Instant::now();
            let snapshot = orbweaver_sdk::dom::parse(&html);
            parses.push(begin.elapsed().as_secs_f64() * 1e6);
            let document = Document::new("https://example.org/a/b", "").snapshot(snapshot);
            let page: Page<'_> = document.page();
            // The snapshot is checked once, by whoever asks first.
            black_box(page.view()?);
            let begin = Instant::now();
            black_box(extract(&page, "")?);
            works.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        let (p, w) = (median(&mut parses), median(&mut works));
        share.push(w / p);
        parse.push(p);
        work.push(w);
    }
    let total = |v: &[f64]| v.iter().sum::<f64>() / 1e6;
    println!(
        "{} pages, {:.0} KB on average; median page: parse {:.0} µs, extract {:.0} µs",
        parse.len(),
        bytes as f64 / 1e3 / parse.len().max(1) as f64,
        median(&mut parse.clone()),
        median(&mut work.clone()),
    );
    println!(
        "extract / parse: median {:.3}, worst {:.3}; all pages {:.3}; {:.0} MB/s of HTML",
        median(&mut share),
        share.last().copied().unwrap_or(0.0),
        total(&work) / total(&parse),
        bytes as f64 / 1e6 / total(&work),
    );
    Ok(())
}
