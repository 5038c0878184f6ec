//! `cargo xtask bench …`: builds what is measured in release and runs it.

use anyhow::Result;
use clap::Subcommand;

use crate::build;
use crate::shell::{cargo, root, run, target_dir};

/// Which benchmark.
#[derive(Subcommand)]
pub enum Bench {
    /// Cost of one plugin call with a fresh instance, against a bare store.
    Call {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Six roles of a page in the sandbox, against the same code native and against peers.
    Extract {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Requests a second through the API, against a bare axum handler.
    Api {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

impl Bench {
    /// Builds the plugins, the bench program and, for `extract`, the peers; then measures.
    pub fn run(self) -> Result<()> {
        build::plugins()?;
        let (name, args) = match self {
            Self::Call { args } => ("call", args),
            Self::Extract { args } => ("extract", args),
            Self::Api { args } => ("api", args),
        };
        let peers = root().join("xtask/peers");
        let peers_target = target_dir().join("peers");
        if name == "api" {
            build::host()?;
        }
        if name == "extract" {
            run(cargo(&peers)
                .args(["build", "--release", "--target-dir"])
                .arg(&peers_target))?;
        }
        run(cargo(root())
            .args([
                "run",
                "--release",
                "--quiet",
                "--workspace",
                "--bin",
                "orbweaver-bench",
                "--",
                name,
            ])
            .args(args)
            .env("ORBWEAVER_PLUGIN_DIR", build::plugin_dir())
            .env("ORBWEAVER_PEERS", peers_target.join("release/peers")))
    }
}
