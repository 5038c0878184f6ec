//! `cargo xtask sim`: what crawls of many millions of pages need, by simulation.
//!
//! A discrete-event model of nodes, runs, sites and the database, fed by measured costs. It says
//! how long a number of pages takes on a number of nodes, which resource binds, and what the
//! pages need in storage, database writes and money. `--check` compares it to real runs, the
//! lines that `cargo xtask bench nodes` prints.

mod costs;
mod model;
mod parts;
mod queue;
mod random;
mod sites;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;

use crate::shell::root;
use costs::Costs;
use model::{Cluster, Outcome, Resource};
use parts::OneRun;
use sites::Sites;

/// Simulate a crawl of many pages on many nodes, or check the model against real runs.
#[derive(Args)]
pub struct Sim {
    /// Pages in all.
    #[arg(long, value_delimiter = ',', default_value = "100000000,1000000000")]
    pages: Vec<f64>,
    /// Numbers of nodes to try.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32")]
    nodes: Vec<usize>,
    /// Cores of a node.
    #[arg(long, default_value_t = 4)]
    cores: usize,
    /// Runs of a node at the same time (`crawl.runs`).
    #[arg(long, default_value_t = 64)]
    runs: usize,
    /// Requests of a run at the same time.
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
    /// Milliseconds between two requests to a host (`delay_ms`).
    #[arg(long, default_value_t = 250.0)]
    delay_ms: f64,
    /// Median of the sites' answer times, in milliseconds.
    #[arg(long, default_value_t = 350.0)]
    latency_ms: f64,
    /// Mean number of pages of a site.
    #[arg(long, default_value_t = 60.0)]
    site_pages: f64,
    /// Exponent of the sites' sizes (Pareto): the smaller, the more pages are in few large sites.
    #[arg(long, default_value_t = 1.2)]
    tail: f64,
    /// One run over so many hosts, which the nodes divide among themselves, instead of a run for
    /// each site; `--concurrency` is each node's most (`crawl.max_concurrency`).
    #[arg(long, value_name = "HOSTS")]
    one_run: Option<f64>,
    /// Of one run: requests at the same time that the client asked for, for all nodes together.
    #[arg(long, requires = "one_run")]
    asked: Option<u64>,
    /// Of one run: runs that each other node has besides. Half of its runs are for its own.
    #[arg(long, requires = "one_run", default_value_t = 0)]
    busy_runs: usize,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measured costs (JSON); those of the project by default.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Lines that `cargo xtask bench nodes` printed: predicts each, and prints the error.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;

impl Sim {
    /// Prints the table, or the comparison.
    pub fn run(&self) -> Result<()> {
        let path = self
            .costs
            .clone()
            .unwrap_or_else(|| root().join("xtask/src/sim/costs.json"));
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let costs = Costs::parse(&text)?;
        match &self.check {
            Some(file) => check(&costs, file, self.seed)?,
            None => match self.one_run {
                Some(hosts) => self.plan_one_run(&costs, hosts),
                None => self.plan(&costs),
            },
        }
        Ok(())
    }

    fn plan(&self, costs: &Costs) {
        for &pages in &self.pages {
            let sites = Sites::draw(pages, self.site_pages, self.tail, self.seed);
            println!(
                "{} pages of {} sites; {} requests a run, {} ms between two, answers in {} ms",
                short(pages),
                short(sites.count()),
                self.concurrency,
                self.delay_ms,
                self.latency_ms
            );
            println!(
                "{:>6} {:>9} {:>10} {:>11} {:>6} {:>6} {:>6} {:>9}  bound by",
                "nodes", "days", "pages/s", "rows/s", "slots", "CPU", "DB", "dollars"
            );
            for &nodes in &self.nodes {
                let outcome = model::simulate(&self.cluster(nodes), costs, &sites, self.seed);
                print(costs, nodes, self.cores, pages, &outcome);
            }
            storage(costs, pages);
        }
    }

    fn plan_one_run(&self, costs: &Costs, hosts: f64) {
        for &pages in &self.pages {
            println!(
                "one run of {} pages of {} hosts; {} requests {}, {} ms between two to a host, answers in {} ms",
                short(pages),
                short(hosts),
                self.asked.unwrap_or(self.concurrency as u64),
                self.asked.map_or("a node at most", |_| "in all"),
                self.delay_ms,
                self.latency_ms
            );
            println!(
                "{:>6} {:>7} {:>9} {:>10} {:>11} {:>8} {:>6} {:>6} {:>7} {:>6} {:>6} {:>9}  bound by",
                "nodes",
                "at work",
                "days",
                "pages/s",
                "rows/s",
                "requests",
                "CPU",
                "DB",
                "commits",
                "worker",
                "tail",
                "dollars"
            );
            let run = OneRun {
                pages: Sites::sizes(hosts, pages, self.tail, self.seed),
                asked: self.asked,
                busy: self.busy_runs,
            };
            for &nodes in &self.nodes {
                let outcome = parts::simulate(&self.cluster(nodes), costs, &run, self.seed);
                print_one_run(costs, (nodes, self.cores), pages, &outcome);
            }
            storage(costs, pages);
        }
    }

    fn cluster(&self, nodes: usize) -> Cluster {
        Cluster {
            nodes,
            cores: self.cores,
            one_machine: false,
            runs: self.runs,
            concurrency: self.concurrency,
            delay: self.delay_ms / 1000.0,
            latency: self.latency_ms / 1000.0,
            // Answer times of sites: most are near the median, some are ten times as slow.
            spread: 0.8,
        }
    }
}

fn print(costs: &Costs, nodes: usize, cores: usize, pages: f64, outcome: &Outcome) {
    let rate = pages / outcome.seconds;
    let share = |resource| outcome.share(resource) * 100.0;
    println!(
        "{nodes:>6} {:>9.2} {rate:>10.0} {:>11.0} {:>5.0}% {:>5.0}% {:>5.0}% {:>9.0}  {}",
        outcome.seconds / DAY,
        rate * costs.rows,
        share(Resource::Slots),
        share(Resource::Cpu),
        share(Resource::Database),
        costs.money(nodes, cores, pages, outcome.seconds),
        outcome.bound().name(),
    );
}

fn print_one_run(
    costs: &Costs,
    (nodes, cores): (usize, usize),
    pages: f64,
    outcome: &parts::Outcome,
) {
    let rate = pages / outcome.seconds;
    println!(
        "{nodes:>6} {:>7} {:>9.2} {rate:>10.0} {:>11.0} {:>7.0}% {:>5.0}% {:>5.0}% {:>6.0}% {:>5.0}% {:>5.0}% {:>9.0}  {}",
        outcome.nodes,
        outcome.seconds / DAY,
        rate * costs.rows,
        outcome.requests * 100.0,
        outcome.cpu * 100.0,
        outcome.database * 100.0,
        outcome.commits * 100.0,
        outcome.worker * 100.0,
        outcome.tail * 100.0,
        costs.money(nodes, cores, pages, outcome.seconds),
        outcome.bound().name(),
    );
}

fn storage(costs: &Costs, pages: f64) {
    println!(
        "  storage: {:.1} TB of rows and indexes, {:.1} TB of bodies\n",
        pages * costs.row_bytes / 1e12,
        pages * costs.body_bytes / 1e12
    );
}

/// Predicts real runs.
fn check(costs: &Costs, file: &std::path::Path, seed: u64) -> Result<()> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    println!(
        "{:>6} {:>9} {:>10} {:>10} {:>7}",
        "nodes", "pages", "measured", "predicted", "error"
    );
    let mut worst = 0.0_f64;
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let real: Value = serde_json::from_str(line)?;
        let number = |name: &str| -> Result<f64> {
            real.get(name)
                .and_then(Value::as_f64)
                .with_context(|| format!("{}: a line has no {name}", file.display()))
        };
        let (pages, seconds) = (number("pages")?, number("seconds")?);
        let cluster = Cluster {
            nodes: number("nodes")? as usize,
            cores: number("cores")? as usize,
            // All nodes, the database and the sites.
            one_machine: true,
            // One project gets three quarters of a node's runs.
            runs: (number("runs")? * 0.75) as usize,
            concurrency: number("concurrency")? as usize,
            delay: 0.0,
            latency: number("latency_ms")? / 1000.0,
            spread: 0.0,
        };
        let hosts = real.get("one_run_hosts").and_then(Value::as_f64);
        let predicted = match hosts {
            Some(hosts) => {
                let run = OneRun {
                    pages: Sites::even(hosts, pages).pages,
                    asked: None,
                    busy: 0,
                };
                parts::simulate(&cluster, costs, &run, seed).seconds
            }
            None => {
                let sites = Sites::even(number("sites")?, pages);
                model::simulate(&cluster, costs, &sites, seed).seconds
            }
        };
        let error = predicted / seconds - 1.0;
        worst = worst.max(error.abs());
        println!(
            "{:>6} {:>9} {:>8.1} s {predicted:>8.1} s {:>6.1}%  {}",
            cluster.nodes,
            short(pages),
            seconds,
            error * 100.0,
            hosts.map_or("a run for each site", |_| "one run"),
        );
    }
    println!("worst error {:.1}%", worst * 100.0);
    Ok(())
}

/// A large number, short.
fn short(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.3}e9", n / 1e9),
        n if n >= 1e6 => format!("{:.1}e6", n / 1e6),
        n => format!("{n:.0}"),
    }
}
