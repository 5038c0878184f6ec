//! Checks every page of the given folders against scraper's tree: nodes, texts, links, selectors.
//!
//! `cargo run --release -p orbweaver-dom --features write --example compare -- FOLDER...`

#[path = "../tests/support/compare.rs"]
mod compare;
#[path = "../tests/support/pages.rs"]
mod pages;

use std::path::Path;
use std::process::ExitCode;

use orbweaver_dom::parse;

fn main() -> ExitCode {
    let folders: Vec<_> = std::env::args().skip(1).collect();
    if folders.is_empty() {
        eprintln!("usage: compare FOLDER...");
        return ExitCode::from(2);
    }
    let mut failed = 0;
    for folder in folders {
        let pages = match pages::read_folder(Path::new(&folder)) {
            Ok(pages) => pages,
            Err(error) => {
                eprintln!("{folder}: {error}");
                return ExitCode::from(2);
            }
        };
        let (mut agree, mut nodes, mut templates) = (0, 0_u64, 0);
        for (name, html) in &pages {
            let snapshot = parse(html);
            let view = match snapshot.view() {
                Ok(view) => view,
                Err(error) => {
                    println!("{name}: {error}");
                    continue;
                }
            };
            nodes += u64::from(view.len());
            templates += usize::from(html.contains("<template"));
            let differences = compare::differences(&view, &compare::scraper_tree(html));
            if differences.is_empty() {
                agree += 1;
            }
            for difference in differences {
                println!("{name}: {difference}");
            }
        }
        println!(
            "{folder}: {agree} of {} pages agree ({nodes} nodes, {} selectors, {templates} pages with templates)",
            pages.len(),
            compare::SELECTORS.len()
        );
        failed += pages.len() - agree;
    }
    ExitCode::from(u8::from(failed > 0))
}
