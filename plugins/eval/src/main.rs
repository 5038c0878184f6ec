//! `cargo xtask eval …`: scores the extractors on pages with ground truth.
//!
//! The pages stay outside the project: they are named by `--data`. See [`data`] for the
//! layouts that are read, [`metric`] for what is counted.

mod article;
mod blocks;
mod causes;
mod data;
mod markdown;
mod metadata;
mod metric;
mod peers;
mod report;
mod roles;
mod sites;
mod speed;
mod table;
mod verdict;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

/// Score the extractors on pages with ground truth.
#[derive(Parser)]
#[command(name = "cargo xtask eval", bin_name = "cargo xtask eval")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The text of the `article` role against the true main content.
    Article(Common),
    /// Title, author and dates against the truth, field by field.
    Metadata(Common),
    /// Whether the text of `only_main_content` Markdown equals the article's, its score, and
    /// the fidelity probes.
    Markdown(Common),
}

/// What every evaluation takes.
#[derive(Args, Clone)]
struct Common {
    /// A folder with `html/<id>.html.gz` and `ground-truth.json`. May be repeated.
    #[arg(long, required = true)]
    data: Vec<PathBuf>,
    /// Writes an HTML report with the worst pages here.
    #[arg(long)]
    report: Option<PathBuf>,
    /// How many pages the report shows.
    #[arg(long, default_value_t = 100)]
    report_pages: usize,
    /// How many of the worst pages are printed.
    #[arg(long, default_value_t = 15)]
    worst: usize,
    /// Only pages whose id begins with this; prints what was extracted.
    #[arg(long)]
    show: Option<String>,
    /// Only pages of this type.
    #[arg(long = "type")]
    page_type: Option<String>,
    /// Also runs other people's extractors on the same pages, each with its URL.
    #[arg(long)]
    peers: bool,
    /// How often each role runs on a page; the fastest run counts.
    #[arg(long, default_value_t = 1)]
    runs: u32,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    match &cli.command {
        Command::Article(common) => article::run(common),
        Command::Metadata(common) => metadata::run(common),
        Command::Markdown(common) => markdown::run(common),
    }
}
