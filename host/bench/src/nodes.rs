//! `bench nodes`: many crawls of sites that answer slowly, on one, two and four nodes of one
//! PostgreSQL database. The figures are input and check of `cargo xtask sim`. With `--one-run`, one
//! run over many hosts that the nodes divide among themselves.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_origin::{LargeSite, SiteSpec};
use orbweaver_tests::crawl;
use orbweaver_tests::postgres::Postgres;
use orbweaver_tests::program::Program;
use serde_json::{Value, json};

use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<std::path::PathBuf>,
    /// Sites; each is crawled by a run of its own.
    #[arg(long, default_value_t = 48)]
    sites: usize,
    /// Pages of each site.
    #[arg(long, default_value_t = 250)]
    pages: usize,
    /// Mean length of a page.
    #[arg(long, default_value_t = 8_000)]
    page_bytes: usize,
    /// Milliseconds that a site takes to answer.
    #[arg(long, default_value_t = 100)]
    latency: u64,
    /// Requests of a run at the same time; of one run, those of each node.
    #[arg(long, default_value_t = 2)]
    concurrency: u32,
    /// Runs of a node at the same time (`crawl.runs`); one project gets three quarters of them.
    #[arg(long, default_value_t = 8)]
    runs: u32,
    /// One run over so many hosts instead of a run for each site.
    #[arg(long)]
    one_run: Option<u16>,
    /// Numbers of nodes.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4")]
    nodes: Vec<usize>,
}

pub fn run(args: &Args) -> Result<()> {
    let many = if args.one_run.is_some() {
        0
    } else {
        args.sites
    };
    let sites: Vec<LargeSite> = (0..many)
        .map(|seed| {
            LargeSite::start(&SiteSpec {
                page_bytes: args.page_bytes,
                links: 30,
                level: 1,
                seed: seed as u64 + 1,
                latency: Duration::from_millis(args.latency),
                record: false,
                ..SiteSpec::pages(args.pages)
            })
        })
        .collect::<std::io::Result<_>>()?;
    let everywhere = match args.one_run {
        Some(_) => Some(LargeSite::start_everywhere(&SiteSpec {
            page_bytes: args.page_bytes,
            links: 30,
            level: 1,
            latency: Duration::from_millis(args.latency),
            record: false,
            ..SiteSpec::pages(args.sites * args.pages)
        })?),
        None => None,
    };
    let mut first = None;
    for &nodes in &args.nodes {
        let figures = measure(args, nodes, &sites, everywhere.as_ref())?;
        let rate = figures.pages as f64 / figures.seconds;
        let cost = figures.cpu_ms / figures.pages as f64;
        let (base_rate, base_cost) = *first.get_or_insert((rate, cost));
        eprintln!(
            "{nodes} nodes: {} pages in {:.1} s: {rate:.0} pages/s ({:.2} x one), {cost:.3} CPU \
             ms/page ({:.2} x one)",
            figures.pages,
            figures.seconds,
            rate / base_rate,
            cost / base_cost,
        );
        // One line for the simulation.
        println!(
            "{}",
            json!({
                "nodes": nodes,
                "sites": args.sites,
                "one_run_hosts": args.one_run,
                "pages": figures.pages,
                "latency_ms": args.latency,
                "concurrency": args.concurrency,
                "runs": args.runs,
                "cores": std::thread::available_parallelism()?,
                "database_cpu_ms_per_page": figures.database_ms / figures.pages as f64,
                "seconds": (figures.seconds * 10.0).round() / 10.0,
                "cpu_ms_per_page": (cost * 1000.0).round() / 1000.0,
            })
        );
    }
    Ok(())
}

struct Figures {
    pages: u64,
    seconds: f64,
    /// CPU of the nodes, without the database's.
    cpu_ms: f64,
    database_ms: f64,
}

fn measure(
    args: &Args,
    nodes: usize,
    sites: &[LargeSite],
    everywhere: Option<&LargeSite>,
) -> Result<Figures> {
    let database = Postgres::shared().database()?;
    let mut launch = crate::crawl::launch(args.binary.as_deref())?
        .with("CRAWL__RUNS", args.runs.to_string())
        .with("TIERS__SELF_HOSTED__CONCURRENT_RUNS", "100000");
    if args.one_run.is_some() {
        // What a node does for the run at once; the run itself asks for none.
        launch = launch.with("CRAWL__MAX_CONCURRENCY", args.concurrency.to_string());
    }
    let folders: Vec<tempfile::TempDir> = (0..nodes)
        .map(|_| tempfile::tempdir())
        .collect::<Result<_, _>>()?;
    let programs: Vec<Program> = folders
        .iter()
        .map(|folder| Program::start(&launch, folder.path(), Some(&database)))
        .collect::<Result<_>>()?;
    let first = programs.first().context("no node")?;
    let cpu = || -> Result<Duration> { programs.iter().map(|node| process::cpu(node.pid())).sum() };
    let database_before = process::cpu_of_all("postgres")?;
    let (before, start) = (cpu()?, Instant::now());
    let mut runs = Vec::new();
    for site in sites {
        let mut body = crawl::whole_site(site);
        body["concurrency"] = args.concurrency.into();
        runs.push(crawl::submit(first, &body)?);
    }
    if let (Some(site), Some(hosts)) = (everywhere, args.one_run) {
        let urls: Vec<String> = (0..hosts)
            .cycle()
            .zip(site.pages())
            .map(|(host, path)| site.url_at(host, &path))
            .collect();
        let body = json!({"urls": urls, "delay_ms": 0, "respect_robots": false});
        let run = first.post("/v1/batch", &body, 202)?;
        runs.push(run["id"].as_i64().context("no id")?);
    }
    let mut pages = 0;
    for run in runs {
        let run: Value = crawl::finished(first, run, Duration::from_millis(20))?;
        if run["status"] != "done" {
            bail!("a run failed: {run}");
        }
        pages += run["page_count"].as_u64().context("no count")?;
    }
    Ok(Figures {
        pages,
        seconds: start.elapsed().as_secs_f64(),
        cpu_ms: (cpu()? - before).as_secs_f64() * 1000.0,
        database_ms: (process::cpu_of_all("postgres")? - database_before).as_secs_f64() * 1000.0,
    })
}
