//! Benchmarks. Every figure that matters is a ratio against a baseline measured in the
//! same run, in turns with it, so that a noisy machine moves both.

mod api;
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
    /// Requests a second through the API, against a bare axum handler.
    Api(api::Args),
    /// The bare axum handler, for `api`.
    #[command(hide = true)]
    Hello { address: std::net::SocketAddr },
    /// A plugin call with a fresh instance against a bare `Store::new`; calls a second.
    Call(call::Args),
    /// Six roles of a page, sandboxed, against native code and peers.
    Extract(extract::Args),
}

fn main() -> Result<()> {
    match Cli::parse().bench {
        Bench::Api(args) => api::run(&args),
        Bench::Hello { address } => api::hello(address),
        Bench::Call(args) => call::run(&args),
        Bench::Extract(args) => extract::run(&args),
    }
}
