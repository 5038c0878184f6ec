//! `bench kill`: the program is killed in the middle of large crawls, on each database; then random
//! ones of several nodes that crawl one run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use orbweaver_origin::SiteSpec;
use orbweaver_tests::drill::{self, Database};

use crate::crawl;

#[derive(clap::Args)]
pub struct Args {
    /// The server to kill; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Pages of the site.
    #[arg(long, default_value_t = 5_000)]
    pages: usize,
    /// How often it is killed.
    #[arg(long, default_value_t = 10)]
    kills: usize,
    /// Nodes of the run on which several work; 0 leaves it out.
    #[arg(long, default_value_t = 4)]
    nodes: usize,
    /// Only that run.
    #[arg(long)]
    only_nodes: bool,
    /// Seed of the random moments.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(args: &Args) -> Result<()> {
    let launch = crawl::launch(args.binary.as_deref())?;
    let spec = SiteSpec::pages(args.pages);
    if args.nodes > 0 {
        kill_nodes(args, &spec)?;
    }
    if args.only_nodes {
        return Ok(());
    }
    for database in [Database::Sqlite, Database::Postgres] {
        let report = drill::kill(&launch, database, &spec, args.kills, args.seed)?;
        let resumed: Vec<String> = report
            .resumed_after
            .iter()
            .map(|after| format!("{:.1}", after.as_secs_f64()))
            .collect();
        println!(
            "{database:?}: {} kills in {} pages: {} rows, none missing, none twice, {} billed; \
             {} pages fetched again; on again after {} s; {:.1} s in all",
            args.kills,
            args.pages,
            report.rows,
            report.billed,
            report.fetched_again,
            resumed.join(", "),
            report.took.as_secs_f64()
        );
    }
    // Slow enough that the crawl still runs when the second program has started.
    let slow = SiteSpec {
        latency: Duration::from_millis(100),
        ..spec
    };
    let waited = drill::take_over(&launch, Database::Postgres, &slow)?;
    println!(
        "killed, taken over by another process after {:.1} s",
        waited.as_secs_f64()
    );
    let waited = drill::hand_back(&launch, Database::Postgres, &slow)?;
    println!(
        "ended, handed to another process after {:.1} s",
        waited.as_secs_f64()
    );
    Ok(())
}

fn kill_nodes(args: &Args, spec: &SiteSpec) -> Result<()> {
    let launch = crawl::launch(args.binary.as_deref())?.with("CRAWL__LEASE_MS", "3000");
    let spec = SiteSpec {
        latency: Duration::from_millis(100),
        page_bytes: 8_000,
        links: 30,
        level: 1,
        ..spec.clone()
    };
    let report = drill::kill_nodes(&launch, &spec, 40, args.nodes, args.kills, args.seed)?;
    println!(
        "{} nodes, one run over 40 hosts: {} kills in {} pages: {} rows, none missing, none twice, \
         {} billed; {} pages fetched again; {:.1} s in all",
        args.nodes,
        args.kills,
        args.pages,
        report.rows,
        report.billed,
        report.fetched_again,
        report.took.as_secs_f64()
    );
    Ok(())
}
