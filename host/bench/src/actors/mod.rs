//! `bench actors`: the cost of the actors besides their fetches, through the service's own
//! API and with their plugins in the sandbox.

mod graph;
mod links;
mod overhead;
mod site;
mod sitemap;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use orbweaver_tests::program::Program;
use serde_json::Value;

use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only the measurements whose name contains this: graph, overhead, links, sitemap.
    #[arg(long)]
    only: Option<String>,
    /// Pages of the graph.
    #[arg(long, default_value_t = 100_000)]
    pages: u32,
    /// Links of each of them.
    #[arg(long, default_value_t = 50)]
    links: u32,
    /// URLs of the sitemap.
    #[arg(long, default_value_t = 50_000)]
    urls: usize,
    /// Calls of each actor whose overhead is measured.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
}

pub fn run(args: &Args) -> Result<()> {
    let only = args.only.as_deref().unwrap_or_default();
    let launch = crate::crawl::launch(args.binary.as_deref())?;
    let runtime = tokio::runtime::Runtime::new()?;
    println!("load: {}", load()?);
    if "graph".contains(only) {
        graph::run(&runtime, &launch, args.pages, args.links)?;
    }
    if "overhead".contains(only) {
        overhead::run(&runtime, &launch, args.rounds)?;
    }
    if "links".contains(only) {
        links::run(&runtime, &launch)?;
    }
    if "sitemap".contains(only) {
        sitemap::run(&runtime, &launch, args.urls)?;
    }
    println!("load: {}", load()?);
    Ok(())
}

/// The load averages over 1, 5 and 15 minutes, without which wall times mean little.
fn load() -> Result<String> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

/// One call of an actor, and the program's usage during it.
struct Call {
    answer: Value,
    wall: Duration,
    /// Of the whole program: host and guest.
    cpu: Duration,
    /// Peak memory of the whole program during the call.
    peak_mib: f64,
    /// Memory before the call.
    before_mib: f64,
}

impl Call {
    fn make(program: &Program, actor: &str, input: &Value) -> Result<Self> {
        let pid = program.pid();
        process::reset_peak(pid)?;
        let (before_mib, cpu) = (process::resident_mib(pid)?, process::cpu(pid)?);
        let start = Instant::now();
        let answer = program.post(&format!("/v1/actors/{actor}"), input, 200)?;
        Ok(Self {
            answer,
            wall: start.elapsed(),
            cpu: process::cpu(pid)?.saturating_sub(cpu),
            peak_mib: process::peak_mib(pid)?,
            before_mib,
        })
    }

    fn figures(&self) -> String {
        format!(
            "{:.2} s, CPU {:.2} s, memory {:.0} MiB before, peak {:.0} MiB",
            self.wall.as_secs_f64(),
            self.cpu.as_secs_f64(),
            self.before_mib,
            self.peak_mib
        )
    }
}

/// CPU time and peak memory of an actor's calls so far, inside the guest.
fn guest(program: &Program, actor: &str) -> Result<(Duration, f64)> {
    let list = program.get("/v1/plugins")?;
    let plugin = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|plugin| plugin["kind"] == "actor" && plugin["name"] == actor)
        .with_context(|| format!("{actor} is not loaded"))?;
    let cpu = plugin["cpu_ms"].as_u64().context("no cpu_ms")?;
    let bytes = plugin["peak_memory_bytes"].as_u64().unwrap_or(0);
    Ok((
        Duration::from_millis(cpu),
        bytes as f64 / f64::from(1 << 20),
    ))
}

fn goal(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}
