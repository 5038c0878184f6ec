//! Benchmarks. Every figure that matters is a ratio against a baseline measured in the
//! same run, in turns with it, so that a noisy machine moves both.

mod call;
mod corpus;
mod extract;
mod measure;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// A plugin call with a fresh instance against a bare `Store::new`; calls a second.
    Call(call::Args),
    /// Six roles of a page, sandboxed, against native code and peers.
    Extract(extract::Args),
}

fn main() -> Result<()> {
    match Cli::parse().bench {
        Bench::Call(args) => call::run(&args),
        Bench::Extract(args) => extract::run(&args),
    }
}
