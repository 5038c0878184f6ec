//! Times parsing into a snapshot against scraper's parse of the same pages, in turns. Medians of pages.
//!
//! `cargo run --release -p orbweaver-dom --features write --example speed -- FOLDER [ROUNDS]`

#[path = "../tests/support/pages.rs"]
mod pages;

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Upper bounds of the size classes, in bytes.
const CLASSES: [(usize, &str); 5] = [
    (30 << 10, "< 30 KB"),
    (80 << 10, "30-80 KB"),
    (200 << 10, "80-200 KB"),
    (600 << 10, "200-600 KB"),
    (usize::MAX, "> 600 KB"),
];

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let time = start.elapsed();
    drop(result);
    time
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(folder) = args.next() else {
        eprintln!("usage: speed FOLDER [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds = args.next().and_then(|n| n.parse().ok()).unwrap_or(9);
    let pages = match pages::read_folder(Path::new(&folder)) {
        Ok(pages) => pages,
        Err(error) => {
            eprintln!("{folder}: {error}");
            return ExitCode::from(2);
        }
    };

    println!("| size | pages | KB | parse µs | MB/s | scraper µs | MB/s | median ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut from = 0;
    for (to, class) in CLASSES {
        let class_pages: Vec<_> = pages
            .iter()
            .filter(|(_, html)| (from..to).contains(&html.len()))
            .collect();
        from = to;
        if class_pages.is_empty() {
            continue;
        }
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut speeds, mut their_speeds) = (Vec::new(), Vec::new());
        for (_, html) in &class_pages {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let bytes = html.len() as f64;
            for _ in 0..rounds {
                a.push(time(|| orbweaver_dom::parse(html)).as_secs_f64() * 1e6);
                b.push(time(|| scraper::Html::parse_document(html)).as_secs_f64() * 1e6);
            }
            let (a, b) = (median(&mut a), median(&mut b));
            ours.push(a);
            theirs.push(b);
            ratios.push(a / b);
            speeds.push(bytes / a);
            their_speeds.push(bytes / b);
        }
        let bytes: usize = class_pages.iter().map(|(_, html)| html.len()).sum();
        println!(
            "| {class} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.3} |",
            class_pages.len(),
            bytes / class_pages.len() / 1024,
            median(&mut ours),
            median(&mut speeds),
            median(&mut theirs),
            median(&mut their_speeds),
            median(&mut ratios),
        );
    }
    ExitCode::SUCCESS
}
