//! `bench soak`: many projects, faults and hostile clients at once, then an audit.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use orbweaver_tests::drill::Database;
use orbweaver_tests::soak::{self, Settings, Times};

use crate::crawl;

#[derive(clap::Args)]
pub struct Args {
    /// The server; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// How long the load lasts.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// On PostgreSQL instead of SQLite.
    #[arg(long)]
    postgres: bool,
    /// Projects at work.
    #[arg(long, default_value_t = 50)]
    projects: usize,
    /// The projects do no work: only hostile clients and one project's scans load the server.
    #[arg(long)]
    only_hostile: bool,
    /// Hostile clients.
    #[arg(long, default_value_t = 12)]
    hostile: usize,
    /// What the moments of faults are derived from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(args: &Args) -> Result<()> {
    let settings = Settings {
        time: Duration::from_secs_f64(args.minutes * 60.0),
        database: if args.postgres {
            Database::Postgres
        } else {
            Database::Sqlite
        },
        projects: args.projects.max(1),
        works: !args.only_hostile,
        hostile: args.hostile,
        seed: args.seed,
    };
    let report = soak::run(&crawl::launch(args.binary.as_deref())?, &settings)?;
    println!(
        "{:?}: {} projects, {} hostile clients: {} crawls, {} scans; {}",
        settings.database,
        settings.projects,
        settings.hostile,
        report.runs,
        report.scans,
        report.faults.join(", ")
    );
    print("health", &report.health);
    print("scan, idle", &report.idle);
    print("scan, faults", &report.faulty);
    print("scan, loaded", &report.loaded);
    let late = report.health.beyond(Duration::from_millis(100));
    println!("health answers beyond 100 ms: {late}");
    println!(
        "longest delay of ready work: {:.1} ms",
        report.longest_poll * 1e3
    );
    for (when, held) in [
        ("idle, before", report.before),
        ("under load", report.busy),
        ("idle, after", report.after),
    ] {
        println!(
            "{when:<14} {:>7.0} MiB resident, {:>4.0} of it caches, {:>7.0} MiB at most, {:>5} files",
            held.resident_mib, held.cached_mib, held.peak_mib, held.files
        );
    }
    if report.broken.is_empty() {
        println!(
            "nothing lost, nothing twice, no cap passed, nothing of others seen, all given back"
        );
        return Ok(());
    }
    for line in report.broken.iter().take(50) {
        println!("BROKEN {line}");
    }
    bail!("{} promises are broken", report.broken.len())
}

fn print(what: &str, times: &Times) {
    let ms = |share| times.quantile(share).as_secs_f64() * 1e3;
    println!(
        "{what:<14} {:>7} requests: {:>8.1} ms in the middle, p99 {:>8.1} ms, most {:>8.1} ms",
        times.len(),
        ms(0.5),
        ms(0.99),
        ms(1.0)
    );
}
