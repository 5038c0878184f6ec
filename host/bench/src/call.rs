//! `bench call`: the cost of a call besides the plugin's own work.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use orbweaver_engine::{Engine, Page, RoleCall};

use crate::corpus;
use crate::extract::engine;
use crate::measure::{Candidate, Rounds};

#[derive(clap::Args)]
pub struct Args {
    /// Rounds of 100 calls each.
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Seconds per throughput measurement.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

const BATCH: u32 = 100;

pub fn run(args: &Args) -> Result<()> {
    let engine = engine()?;
    fresh_call(&engine, args)?;
    throughput(&engine, args)
}

/// One role of a page with a single link, with a new instance, against creating an empty
/// store of an engine with the same settings.
fn fresh_call(engine: &Engine, args: &Args) -> Result<()> {
    let page = Page::from_html("https://example.com/", "<a href=/x>x</a>");
    page.snapshot();
    let mut config = wasmtime::Config::new();
    config.allocation_strategy(wasmtime::InstanceAllocationStrategy::pooling());
    config.epoch_interruption(true);
    let bare = wasmtime::Engine::new(&config).map_err(|error| anyhow::anyhow!("{error}"))?;
    let rounds = Rounds::run(
        vec![
            Candidate::new("Store::new", || {
                for _ in 0..BATCH {
                    black_box(wasmtime::Store::new(&bare, ()));
                }
                Ok(())
            }),
            Candidate::new("call", || {
                for _ in 0..BATCH {
                    links(engine, &page)?;
                }
                Ok(())
            }),
        ],
        args.rounds,
        Duration::from_secs(20),
    )?;
    for (name, median) in rounds.medians() {
        println!(
            "{name:<12} {:>8.2} µs",
            median.as_secs_f64() * 1e6 / f64::from(BATCH)
        );
    }
    let ratio = rounds.ratio("call", "Store::new").unwrap_or(f64::NAN);
    println!("call / Store::new: {ratio:.1}");
    Ok(())
}

fn links(engine: &Engine, page: &Arc<Page>) -> Result<()> {
    let call = RoleCall {
        role: "links".to_owned(),
        options: String::new(),
    };
    for answer in engine.extract_blocking(page, vec![call]) {
        black_box(answer.context("links")?);
    }
    Ok(())
}

/// Markdown of a 100 KB page, the page parsed beforehand.
fn throughput(engine: &Engine, args: &Args) -> Result<()> {
    let page = Page::from_html("https://example.com/", &corpus::page(100_000));
    page.snapshot();
    let mut single = 0.0;
    for threads in [1_u32, 2] {
        let stop = AtomicBool::new(false);
        let count = AtomicU64::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        while !stop.load(Ordering::Relaxed) {
                            let call = RoleCall {
                                role: "markdown".to_owned(),
                                options: String::new(),
                            };
                            for answer in engine.extract_blocking(&page, vec![call]) {
                                black_box(answer.context("markdown")?);
                            }
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(())
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_secs(args.seconds));
            stop.store(true, Ordering::Relaxed);
            for worker in workers {
                worker
                    .join()
                    .map_err(|_| anyhow::anyhow!("a worker panicked"))??;
            }
            Ok(())
        })?;
        let rate = count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
        if threads == 1 {
            single = rate;
        }
        println!(
            "markdown of 100 KB, {threads} thread(s): {rate:.0} calls/s ({:.2} x one)",
            rate / single
        );
    }
    Ok(())
}
