//! `cargo xtask …`: all commands of this repository besides `cargo build`.
//!
//! It has no heavy dependencies, so that the first command on a new machine starts within
//! seconds.

mod bench;
mod build;
mod clients;
mod dist;
#[cfg(test)]
mod documented;
mod eval;
mod fuzz;
mod jobs;
mod kit;
mod lint;
mod setup;
mod shell;
mod sim;
mod steps;
mod test;
mod train;

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
    /// Set up, build plugins and host in release mode, and serve.
    Start {
        /// Arguments for `orbweaver serve`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build everything in release mode: target/release/orbweaver and target/plugins/*.wasm.
    Build,
    /// Build only the plugins, into target/plugins.
    Plugins,
    /// Build the components that tests load, into target/fixtures.
    BuildFixtures,
    /// Set up what the tests need and run all of them.
    Test {
        /// Run only tests whose name contains this.
        filter: Option<String>,
    },
    /// Check formatting, rules of the workspace, unused dependencies, clippy and documentation in
    /// every workspace, with warnings denied; the book's links, and the alerts.
    Lint {
        /// Run only steps whose name contains this.
        filter: Option<String>,
    },
    /// Check licences, sources and advisories of dependencies.
    Audit,
    /// Run a benchmark; each prints ratios against a baseline of the same run.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Score the extractors on pages with ground truth, which stay outside the project.
    #[command(subcommand)]
    Eval(eval::Eval),
    /// Run a fuzz target under libFuzzer, guided by coverage.
    Fuzz(fuzz::Fuzz),
    /// Run many projects, faults and hostile clients at once, then an audit.
    Soak {
        /// `--minutes N`, `--postgres`, and the options that `--help` lists.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    Sim(sim::Sim),
    Dist(dist::Dist),
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
        Command::Sim(sim) => sim.run(),
        Command::Eval(eval) => eval.run(),
        Command::Fuzz(fuzz) => fuzz.run(),
        Command::Soak { args } => bench::Bench::Soak { args }.run(),
    }
}
