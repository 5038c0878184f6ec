//! Compares our tree of random pages with html5ever's: `tests/oracle.rs` with a count and a seed of one's own.
//!
//! `cargo run --release -p orbweaver-dom --features write --example random -- COUNT [SEED]`

#[path = "../tests/support/compare.rs"]
mod compare;
#[path = "../tests/support/generate.rs"]
mod generate;
#[path = "../tests/support/random.rs"]
mod random;

use std::process::ExitCode;

use random::Random;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (Some(Ok(count)), Ok(seed)) = (args.next(), args.next().unwrap_or(Ok(1))) else {
        eprintln!("usage: random COUNT [SEED]");
        return ExitCode::from(2);
    };
    let mut random = Random::new(seed);
    let (mut bytes, mut differ) = (0, 0_u64);
    for _ in 0..count {
        let html = generate::page(&mut random);
        bytes += html.len();
        let snapshot = orbweaver_dom::parse(&html);
        let differences = match snapshot.view() {
            Ok(view) => compare::differences(&view, &compare::scraper_tree(&html)),
            Err(error) => vec![error.to_string()],
        };
        if !differences.is_empty() {
            differ += 1;
            println!("{html:?}: {differences:#?}");
        }
    }
    println!("{count} pages, {bytes} bytes, {differ} differ");
    ExitCode::from(u8::from(differ > 0))
}
