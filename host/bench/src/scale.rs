//! `bench scale`: the memory of a crawl ten times as large, and the latency of its lists.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_origin::{LargeSite, SiteSpec};
use orbweaver_tests::crawl;
use orbweaver_tests::program::Program;
use serde_json::Value;

use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Pages of the larger site; the smaller one has a tenth.
    #[arg(long, default_value_t = 100_000)]
    pages: usize,
    /// Mean length of a page.
    #[arg(long, default_value_t = 8_000)]
    page_bytes: usize,
    /// URL of a PostgreSQL server with an empty database; SQLite otherwise.
    #[arg(long)]
    database: Option<String>,
}

pub fn run(args: &Args) -> Result<()> {
    let launch = crate::crawl::launch(args.binary.as_deref())?;
    let mut peaks = Vec::new();
    for pages in [args.pages / 10, args.pages] {
        let spec = SiteSpec {
            page_bytes: args.page_bytes,
            level: 1,
            record: false,
            ..SiteSpec::pages(pages)
        };
        let site = LargeSite::start(&spec)?;
        let data = tempfile::tempdir()?;
        let program = Program::start(&launch, data.path(), args.database.as_deref())?;
        let idle = process::resident_mib(program.pid())?;
        let first = crawl_once(&program, &site)?;
        let peak = process::peak_mib(program.pid())?;
        println!("{pages} pages: {idle:.0} MiB when idle, peak {peak:.0} MiB");
        peaks.push(peak);
        if pages == args.pages {
            lists(&program, first, pages)?;
            site.replace(&SiteSpec { edition: 1, ..spec });
            let second = crawl_once(&program, &site)?;
            diff(&program, first, second)?;
        }
    }
    if let [small, large] = peaks.as_slice() {
        println!(
            "peak at {} / at {}: {:.2}",
            args.pages,
            args.pages / 10,
            large / small
        );
    }
    Ok(())
}

fn crawl_once(program: &Program, site: &LargeSite) -> Result<i64> {
    let start = Instant::now();
    let run = crawl::submit(program, &crawl::whole_site(site))?;
    let run = crawl::finished(program, run, Duration::from_millis(100))?;
    if run["status"] != "done" {
        bail!("the run failed: {run}");
    }
    let seconds = start.elapsed().as_secs_f64();
    let count = run["page_count"].as_u64().context("no count")?;
    println!(
        "  {count} rows in {seconds:.1} s: {:.0} pages/s",
        count as f64 / seconds
    );
    run["id"].as_i64().context("no id")
}

fn lists(program: &Program, run: i64, pages: usize) -> Result<()> {
    for format in ["csv", "ndjson", "json"] {
        process::reset_peak(program.pid())?;
        let before = process::resident_mib(program.pid())?;
        let (start, mut bytes, mut lines) = (Instant::now(), 0, 0);
        let path = format!("/v1/crawls/{run}/pages?limit=100000&format={format}");
        let status = program.stream("GET", &path, "", |piece| {
            bytes += piece.len();
            lines += piece.iter().filter(|byte| **byte == b'\n').count();
        })?;
        if status != 200 || (format == "csv" && lines < pages) {
            bail!("{path}: {status}, {lines} lines");
        }
        println!(
            "  {format}: {bytes} bytes, {lines} lines in {:.2} s; memory {before:.0} MiB before, peak {:.0} MiB",
            start.elapsed().as_secs_f64(),
            process::peak_mib(program.pid())?
        );
    }
    let start = Instant::now();
    let links = program.get(&format!("/v1/crawls/{run}/links?limit=1000"))?;
    println!("  links, 1,000: {:.2} s", start.elapsed().as_secs_f64());
    if links["items"].as_array().map(Vec::len) != Some(1000) {
        bail!("{} links", links["items"].as_array().map_or(0, Vec::len));
    }
    let start = Instant::now();
    let orphans = program.get(&format!("/v1/crawls/{run}/orphans"))?;
    println!(
        "  orphans: {} in {:.2} s",
        orphans["items"].as_array().map_or(0, Vec::len),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn diff(program: &Program, first: i64, second: i64) -> Result<()> {
    process::reset_peak(program.pid())?;
    let start = Instant::now();
    let diff: Value = program.get(&format!("/v1/crawls/{first}/diff/{second}"))?;
    println!(
        "  diff: {} in {:.2} s, peak {:.0} MiB",
        diff["summary"],
        start.elapsed().as_secs_f64(),
        process::peak_mib(program.pid())?
    );
    Ok(())
}
