//! `cargo xtask bench …`: builds a benchmark in release mode and runs it.

use std::process::Command;

use anyhow::Result;
use clap::Subcommand;

use crate::build;
use crate::shell::{cargo, root, run, target_dir};

/// The benchmarks.
#[derive(Subcommand)]
pub enum Bench {
    /// The actors through the API: a large link graph, their overhead, links with latency, a
    /// large sitemap.
    Actors {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Cost of one plugin call with a new instance, against a bare store.
    Call {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Six roles of a page in the sandbox, against the same code native and against peers.
    Extract {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// What the six roles say of the pages of some folders, as hashes to compare two versions
    /// of the code by.
    Corpus {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// A whole crawl through the API, against the spider crate and a bare client.
    Crawl {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// A million pages in one PostgreSQL database and one bucket: an audit, and what reads cost.
    Fleet {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// What servers cost that have nothing to do, on each database.
    Idle {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Kills the program repeatedly during a crawl, on each database.
    Kill {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Growth of the host's work per page, and of the roles natively, on hostile documents.
    Nasty {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Crawls of sites that answer slowly, on 1, 2 and 4 nodes of one PostgreSQL database.
    Nodes {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Memory and lists of a crawl of 100,000 pages.
    Scale {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Fields by CSS selectors: microseconds a page in the sandbox, after its parse.
    Selectors {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Rendering a static page, against bare Chromium; then many at once.
    Render {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// As `cargo xtask soak`.
    #[command(hide = true)]
    Soak {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// A thousand uploads and rollbacks of a plugin under load.
    Swaps {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Requests a second through the API, against a bare axum handler.
    Api {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// CPU of the scheduler and lateness of webhooks with 10,000 monitors and deliveries.
    Monitors {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

impl Bench {
    /// Builds the plugins, the bench program, the server and, if needed, the peers; then
    /// measures.
    pub fn run(self) -> Result<()> {
        let (name, args) = match self {
            Self::Actors { args } => ("actors", args),
            Self::Call { args } => ("call", args),
            Self::Extract { args } => ("extract", args),
            Self::Corpus { args } => ("corpus", args),
            Self::Crawl { args } => ("crawl", args),
            Self::Fleet { args } => ("fleet", args),
            Self::Idle { args } => ("idle", args),
            Self::Kill { args } => ("kill", args),
            Self::Nodes { args } => ("nodes", args),
            Self::Scale { args } => ("scale", args),
            Self::Selectors { args } => ("selectors", args),
            Self::Soak { args } => ("soak", args),
            Self::Swaps { args } => ("swaps", args),
            Self::Nasty { args } => ("nasty", args),
            Self::Api { args } => ("api", args),
            Self::Monitors { args } => ("monitors", args),
            Self::Render { args } => return render(&args),
        };
        build::plugins()?;
        let peers = root().join("xtask/peers");
        let peers_target = target_dir().join("peers");
        if [
            "actors", "api", "crawl", "fleet", "idle", "kill", "nodes", "scale", "soak", "swaps",
        ]
        .contains(&name)
        {
            build::host()?;
        }
        let peer = match name {
            "extract" => Some("peers"),
            "crawl" => Some("peer-spider"),
            _ => None,
        };
        if let Some(peer) = peer {
            run(cargo(&peers)
                .args(["build", "--release", "--package", peer, "--target-dir"])
                .arg(&peers_target))?;
        }
        // As a part of the workspace, so that it takes the dependencies that the server has.
        run(cargo(root()).args([
            "build",
            "--release",
            "--workspace",
            "--bin",
            "orbweaver-bench",
        ]))?;
        run(Command::new(target_dir().join("release/orbweaver-bench"))
            .current_dir(root())
            .arg(name)
            .args(args)
            .env("ORBWEAVER_PLUGIN_DIR", build::plugin_dir())
            .env("ORBWEAVER_PEERS", peers_target.join("release/peers"))
            .env(
                "ORBWEAVER_PEER_SPIDER",
                peers_target.join("release/peer-spider"),
            ))
    }
}

/// Built separately, because it needs neither plugins nor the engine.
fn render(args: &[String]) -> Result<()> {
    let example = [
        "run",
        "--release",
        "--quiet",
        "--package",
        "orbweaver-fetch",
    ];
    run(cargo(root())
        .args(example)
        .args(["--example", "render", "--"])
        .args(args))
}
