//! A separate program, so that the product's build does not include these crates.
//!
//! Protocol: one line in, `TOOL ITERATIONS PATH`; one line out, nanoseconds per iteration.
//! The benchmark keeps the process alive and alternates between it and its own measurements.

use std::hint::black_box;
use std::io::{BufRead as _, Write as _};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut words = line.splitn(3, ' ');
        let (Some(tool), Some(iterations), Some(path)) = (words.next(), words.next(), words.next())
        else {
            bail!("expected: TOOL ITERATIONS PATH");
        };
        let iterations: u32 = iterations.parse().context("ITERATIONS: a number")?;
        let html = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
        let start = Instant::now();
        for _ in 0..iterations.max(1) {
            match tool {
                "dom_smoothie" => {
                    let mut reader = dom_smoothie::Readability::new(
                        html.as_str(),
                        Some("https://example.com/"),
                        None,
                    )?;
                    // A page without an article is a valid result too.
                    let _ = black_box(reader.parse());
                }
                "htmd" => {
                    black_box(htmd::convert(&html)?);
                }
                other => bail!("unknown tool `{other}`: dom_smoothie, htmd"),
            }
        }
        writeln!(
            out,
            "{}",
            start.elapsed().as_nanos() / u128::from(iterations.max(1))
        )?;
        out.flush()?;
    }
    Ok(())
}
