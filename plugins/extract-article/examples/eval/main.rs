//! Scores the extractor on a folder of pages with ground truth.
//!
//! ```text
//! cargo run --release -p orbweaver-extract-article --example eval -- FOLDER [--worst N] [--show ID]
//! ```
//!
//! The folder holds `html/<id>.html.gz` and `ground-truth.json`, `{id: {url, articleBody}}`
//! (runs of four tokens, as scrapinghub's article-extraction-benchmark) or `{id: {url,
//! page_type, main_content, with, without}}` (lower-case tokens, as WCXB).

mod metric;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};

use orbweaver_extract_article::{Kind, article};
use orbweaver_sdk::testing::Document;
use serde_json::Value;

use metric::Overlap;

struct Row {
    id: String,
    url: String,
    page_type: String,
    kind: Kind,
    overlap: Overlap,
    exact: bool,
    /// Shares of the snippets that must appear and do, must not appear and don't.
    with: Option<f64>,
    without: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut folder = None;
    let mut worst = 15;
    let mut show = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--worst" => worst = args.next().ok_or("--worst: how many?")?.parse()?,
            "--show" => show = Some(args.next().ok_or("--show: which page?")?),
            _ => folder = Some(PathBuf::from(arg)),
        }
    }
    let folder = folder.ok_or("usage: eval FOLDER [--worst N] [--show ID]")?;
    let truth = std::fs::read_to_string(folder.join("ground-truth.json"))?;
    let truth: BTreeMap<String, Value> = serde_json::from_str(&truth)?;
    if let Some(id) = show {
        let (id, page) = truth
            .iter()
            .find(|(k, _)| k.starts_with(&id))
            .ok_or("no such page")?;
        println!(
            "{}",
            run(&folder, id, page["url"].as_str().unwrap_or(""))?.0
        );
        return Ok(());
    }
    let shingles = truth.values().any(|page| page["articleBody"].is_string());
    let mut rows = Vec::new();
    for (id, page) in &truth {
        rows.push(row(&folder, id, page, shingles)?);
    }
    if shingles {
        print_articles(&rows);
    } else {
        print_types(&rows);
    }
    rows.sort_by(|a, b| a.overlap.f1().total_cmp(&b.overlap.f1()));
    for row in rows.iter().take(worst) {
        let o = row.overlap;
        println!(
            "{:.3} P {:.3} R {:.3} {:13} as {:13} {:10.10} {}",
            o.f1(),
            o.precision(),
            o.recall(),
            row.page_type,
            format!("{:?}", row.kind),
            row.id,
            row.url
        );
    }
    Ok(())
}

fn run(folder: &Path, id: &str, url: &str) -> Result<(String, Kind), Box<dyn Error>> {
    let file = std::fs::File::open(folder.join("html").join(format!("{id}.html.gz")))?;
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes)?;
    let document = Document::new(url, &String::from_utf8_lossy(&bytes));
    let page = document.page();
    let found = article(page.view()?, url, page.base());
    Ok((found.text, found.kind))
}

fn row(folder: &Path, id: &str, page: &Value, shingles: bool) -> Result<Row, Box<dyn Error>> {
    let text = |key: &str| page[key].as_str().unwrap_or("").to_owned();
    let url = text("url");
    let (found, kind) = run(folder, id, &url)?;
    let truth = text(if shingles {
        "articleBody"
    } else {
        "main_content"
    });
    let share = |key: &str, wanted: bool| {
        let snippets: Vec<&str> = page[key]
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let good = snippets
            .iter()
            .filter(|s| found.contains(s.trim()) == wanted)
            .count();
        (!snippets.is_empty()).then(|| good as f64 / snippets.len() as f64)
    };
    Ok(Row {
        overlap: if shingles {
            metric::shingles(&truth, &found)
        } else {
            metric::words(&truth, &found)
        },
        exact: metric::tokens(&truth) == metric::tokens(&found),
        with: share("with", true),
        without: share("without", false),
        page_type: if shingles {
            "article".to_owned()
        } else {
            text("page_type")
        },
        id: id.to_owned(),
        url,
        kind,
    })
}

fn print_articles(rows: &[Row]) {
    let pages: Vec<(Overlap, bool)> = rows.iter().map(|r| (r.overlap, r.exact)).collect();
    let [p, r, f1, exact] = metric::articles(&pages);
    println!(
        "F1 {f1:.4}  P {p:.4}  R {r:.4}  exact {exact:.3}  pages {}",
        pages.len()
    );
    // How much the figure hangs on the choice of pages.
    let mut halves = Vec::new();
    for seed in 0..20 {
        for side in [true, false] {
            let half: Vec<_> = pages
                .iter()
                .enumerate()
                .filter(|(i, _)| coin(seed, *i) == side)
                .map(|(_, page)| *page)
                .collect();
            halves.push(metric::articles(&half)[2]);
        }
    }
    let mean = halves.iter().sum::<f64>() / halves.len() as f64;
    let spread = halves.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / halves.len() as f64;
    println!(
        "F1 of 40 random halves: mean {mean:.4}, standard deviation {:.4}",
        spread.sqrt()
    );
}

/// A fair coin that falls the same way every time (SplitMix64).
fn coin(seed: u64, index: usize) -> bool {
    let mut x = (seed << 32 | index as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ x >> 31) & 1 == 0
}

fn print_types(rows: &[Row]) {
    let mut types: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        types.entry(&row.page_type).or_default().push(row);
        types.entry("~ all").or_default().push(row);
    }
    println!(
        "{:14} {:>5} {:>7} {:>7} {:>7} {:>6} {:>8}",
        "type", "pages", "F1", "P", "R", "with", "without"
    );
    for (name, rows) in types {
        let mean = |value: &dyn Fn(&Row) -> Option<f64>| {
            let values: Vec<f64> = rows.iter().filter_map(|r| value(r)).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        println!(
            "{name:14} {:5} {:7.4} {:7.4} {:7.4} {:6.3} {:8.3}",
            rows.len(),
            mean(&|r| Some(r.overlap.f1())),
            mean(&|r| Some(r.overlap.precision())),
            mean(&|r| Some(r.overlap.recall())),
            mean(&|r| r.with),
            mean(&|r| r.without),
        );
    }
}
