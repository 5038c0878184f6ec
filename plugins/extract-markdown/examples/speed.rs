//! Speed of the conversion over folders of pages (`.html`, `.html.gz`): megabytes of HTML a
//! second after the parse, by size of page, medians of several runs.
//!
//! `cargo run --release --example speed -- FOLDER… [--main]`

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use orbweaver_extract_markdown::{Options, markdown};
use orbweaver_sdk::dom::{Snapshot, parse};

const RUNS: usize = 5;
/// Upper bounds of the classes, in bytes.
const CLASSES: [(usize, &str); 4] = [
    (50_000, "< 50 KB"),
    (200_000, "50-200 KB"),
    (600_000, "200-600 KB"),
    (usize::MAX, "> 600 KB"),
];

struct Sample {
    bytes: usize,
    convert: f64,
    parse: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (flags, folders): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let options = Options {
        only_main_content: flags.iter().any(|f| f == "--main"),
    };
    let mut samples = Vec::new();
    let mut written = 0;
    for folder in &folders {
        for entry in std::fs::read_dir(folder)? {
            let html = read(&entry?.path())?;
            let start = Instant::now();
            let snapshot = parse(&html);
            let parse = start.elapsed().as_secs_f64();
            let convert = median(
                (0..RUNS)
                    .map(|_| time(&snapshot, &options, &mut written))
                    .collect(),
            );
            samples.push(Sample {
                bytes: html.len(),
                convert,
                parse,
            });
        }
    }
    println!(
        "{:>12} {:>6} {:>14} {:>14} {:>12}",
        "class", "pages", "median MB/s", "total MB/s", "parse MB/s"
    );
    let mut from = 0;
    for (to, name) in CLASSES {
        row(
            name,
            samples.iter().filter(|s| (from..to).contains(&s.bytes)),
        );
        from = to;
    }
    row("all", samples.iter());
    println!("{} KB of Markdown a run", written / RUNS / 1000);
    Ok(())
}

fn row<'s>(name: &str, samples: impl Iterator<Item = &'s Sample> + Clone) {
    let bytes: f64 = samples.clone().map(|s| s.bytes as f64).sum();
    let rate = |seconds: f64| bytes / seconds / 1e6;
    println!(
        "{name:>12} {:>6} {:>14.0} {:>14.0} {:>12.0}",
        samples.clone().count(),
        median(
            samples
                .clone()
                .map(|s| s.bytes as f64 / s.convert / 1e6)
                .collect()
        ),
        rate(samples.clone().map(|s| s.convert).sum()),
        rate(samples.map(|s| s.parse).sum()),
    );
}

fn time(snapshot: &Snapshot, options: &Options, written: &mut usize) -> f64 {
    let start = Instant::now();
    if let Ok(view) = snapshot.view() {
        *written += markdown(&view, "https://host.example/a/page", options).len();
    }
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn read(path: &Path) -> Result<String, std::io::Error> {
    let mut bytes = std::fs::read(path)?;
    if path.extension().is_some_and(|e| e == "gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
        bytes = plain;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
