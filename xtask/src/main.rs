//! `cargo xtask …`: everything one does with this repository besides `cargo build`.
//!
//! Kept free of heavy dependencies, so that the first command on a fresh machine
//! starts working within seconds.

mod bench;
mod build;
mod dist;
mod lint;
mod new_plugin;
mod setup;
mod shell;
mod steps;
mod test;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Build, run, test and measure Orbweaver.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Set up, build plugins and host in release, and serve.
    Start {
        /// Passed on to `orbweaver serve`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build everything in release: target/release/orbweaver and target/plugins/*.wasm.
    Build,
    /// Build only the plugins into target/plugins.
    Plugins,
    /// Build the components that tests load into target/fixtures.
    BuildFixtures,
    /// Set up what the tests need and run all of them.
    Test {
        /// Only tests whose name contains this.
        filter: Option<String>,
    },
    /// Formatting, rules of the workspace, unused dependencies, clippy and documentation,
    /// warnings denied, in every workspace; the book's links, and alerts.
    Lint {
        /// Only steps whose name contains this.
        filter: Option<String>,
    },
    /// Licences, sources and advisories of dependencies.
    Audit,
    /// Benchmarks; each prints ratios against a baseline of the same run.
    #[command(subcommand)]
    Bench(bench::Bench),
    Dist(dist::Dist),
    /// A new plugin project that builds and passes its test.
    NewPlugin(new_plugin::NewPlugin),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Start { args } => build::start(&args),
        Command::Build => build::all(),
        Command::Plugins => build::plugins(),
        Command::BuildFixtures => build::fixtures(),
        Command::Test { filter } => test::run(filter.as_deref()),
        Command::Lint { filter } => lint::run_all(filter.as_deref()),
        Command::Audit => lint::audit(),
        Command::Bench(bench) => bench.run(),
        Command::Dist(dist) => dist.run(),
        Command::NewPlugin(new) => new.run(),
    }
}
