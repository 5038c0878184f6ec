//! Benchmarks. Every important figure is a ratio to a baseline that is measured in the same
//! run, in turns, so that a noisy machine affects both.

mod actors;
mod api;
mod call;
mod corpus;
mod crawl;
mod extract;
mod fleet;
mod idle;
mod kill;
mod measure;
mod monitors;
mod nasty;
mod nodes;
mod outputs;
mod process;
mod scale;
mod selectors;
mod soak;
mod swaps;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// The actors through the API: a large link graph, overhead, links at a latency, a
    /// large sitemap.
    Actors(actors::Args),
    /// Requests a second through the API, against a bare axum handler.
    Api(api::Args),
    /// The bare axum handler, for `api`.
    #[command(hide = true)]
    Hello { address: std::net::SocketAddr },
    /// A plugin call with a fresh instance against a bare `Store::new`; calls a second.
    Call(call::Args),
    /// What the six roles say of a folder's pages, as hashes to compare two versions by.
    Corpus(outputs::Args),
    /// A whole crawl through the API, against the spider crate and a bare client.
    Crawl(crawl::Args),
    /// The bare client, for `crawl`.
    #[command(hide = true)]
    FetchList {
        address: std::net::SocketAddr,
        list: PathBuf,
        connections: usize,
    },
    /// A million pages in one PostgreSQL database and one bucket: an audit, and what reads cost.
    Fleet(fleet::Args),
    /// What servers cost that have nothing to do, on each database.
    Idle(idle::Args),
    /// The program killed again and again in the middle of a crawl, on each database.
    Kill(kill::Args),
    /// Growth of the host's work per page, and of the roles natively, on hostile documents.
    Nasty(nasty::Args),
    /// Crawls of sites that answer slowly, on 1, 2 and 4 nodes of one PostgreSQL database.
    Nodes(nodes::Args),
    /// Many projects, faults and hostile clients at once, then an audit.
    Soak(soak::Args),
    /// A thousand uploads and rollbacks of a plugin under load: failed calls and growth of memory.
    Swaps(swaps::Args),
    /// Memory and lists of a crawl of 100,000 pages.
    Scale(scale::Args),
    /// Six roles of a page, sandboxed, against native code and peers.
    Extract(extract::Args),
    /// Fields by CSS selectors: microseconds a page in the sandbox, after its parse.
    Selectors(selectors::Args),
    /// CPU of the scheduler and lateness of webhooks with many monitors and deliveries.
    Monitors(monitors::Args),
}

fn main() -> Result<()> {
    match Cli::parse().bench {
        Bench::Actors(args) => actors::run(&args),
        Bench::Api(args) => api::run(&args),
        Bench::Hello { address } => api::hello(address),
        Bench::Call(args) => call::run(&args),
        Bench::Corpus(args) => outputs::run(&args),
        Bench::Crawl(args) => crawl::run(&args),
        Bench::FetchList {
            address,
            list,
            connections,
        } => crawl::fetch_list(address, &list, connections),
        Bench::Fleet(args) => fleet::run(&args),
        Bench::Idle(args) => idle::run(&args),
        Bench::Kill(args) => kill::run(&args),
        Bench::Nasty(args) => nasty::run(&args),
        Bench::Nodes(args) => nodes::run(&args),
        Bench::Soak(args) => soak::run(&args),
        Bench::Swaps(args) => swaps::run(&args),
        Bench::Scale(args) => scale::run(&args),
        Bench::Selectors(args) => selectors::run(&args),
        Bench::Extract(args) => extract::run(&args),
        Bench::Monitors(args) => monitors::run(&args),
    }
}
