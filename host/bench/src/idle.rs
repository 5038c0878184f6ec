//! `bench idle`: what servers cost that have nothing to do, on each database.

use std::time::Duration;

use anyhow::Result;
use orbweaver_tests::drill::Database;
use orbweaver_tests::program::Program;

use crate::{crawl, process};

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<std::path::PathBuf>,
    /// Servers at the same time, each with a database of its own.
    #[arg(long, default_value_t = 3)]
    servers: usize,
    /// Seconds for a server to come to rest.
    #[arg(long, default_value_t = 20)]
    warm_up: u64,
    /// Seconds that are measured.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
}

pub fn run(args: &Args) -> Result<()> {
    let launch = crawl::launch(args.binary.as_deref())?;
    for database in [Database::Sqlite, Database::Postgres] {
        let mut servers = Vec::new();
        for _ in 0..args.servers {
            let data = tempfile::tempdir()?;
            let url = database.fresh()?;
            let program = Program::start(&launch, data.path(), url.as_deref())?;
            servers.push((program, data));
        }
        std::thread::sleep(Duration::from_secs(args.warm_up));
        let used = |program: &Program| process::scheduled(program.pid());
        let before = servers
            .iter()
            .map(|(program, _)| used(program))
            .collect::<Result<Vec<_>>>()?;
        std::thread::sleep(Duration::from_secs(args.seconds));
        for ((program, _), (cpu, switches)) in servers.iter().zip(before) {
            let (cpu_now, switches_now) = used(program)?;
            let seconds = args.seconds as f64;
            println!(
                "{database:?}: {:.3} % of a core, {:.1} wake-ups a second, {:.0} MiB resident",
                (cpu_now - cpu).as_secs_f64() / seconds * 100.0,
                (switches_now - switches) as f64 / seconds,
                process::resident_mib(program.pid())?
            );
        }
    }
    Ok(())
}
