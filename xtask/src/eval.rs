//! `cargo xtask eval …`: scores the extractors on pages with ground truth, natively.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Subcommand;

use crate::shell::{cargo, plugin_target_dir, root, run, target_dir};
use crate::train::Train;

/// What is evaluated. The arguments are those of the program `orbweaver-eval`: `--data DIR`
/// (repeatable), `--report FILE.html`, `--peers` and more; `--help` lists them.
#[derive(Subcommand)]
pub enum Eval {
    /// The text of the `article` role against the true main content.
    Article {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Title, author, dates and the like against the truth, field by field.
    Metadata {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Train the models that find the main content, or measure them on sites that they were
    /// not trained on.
    Train(Train),
    /// Markdown of the main content against the article, and the fidelity probes.
    Markdown {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

impl Eval {
    /// Builds the program, and the peers where they are asked for; then runs it.
    pub fn run(self) -> Result<()> {
        let (name, args) = match self {
            Self::Train(train) => return train.run(),
            Self::Article { args } => ("article", args),
            Self::Metadata { args } => ("metadata", args),
            Self::Markdown { args } => ("markdown", args),
        };
        run(cargo(&root().join("plugins"))
            .args(["build", "--quiet", "--profile", "eval"])
            .args(["--package", "orbweaver-eval", "--target-dir"])
            .arg(plugin_target_dir()))?;
        let mut eval = Command::new(plugin_target_dir().join("eval/orbweaver-eval"));
        eval.arg(name).args(&args);
        if args.iter().any(|arg| arg == "--peers") {
            eval.env("ORBWEAVER_EVAL_PEERS", peers()?);
        }
        run(&mut eval)
    }
}

/// Builds the peers and tells how each is started: `tool=program`, arguments after tabs, one
/// a line.
fn peers() -> Result<String> {
    let peers = root().join("xtask/peers");
    let target = target_dir().join("peers");
    run(cargo(&peers)
        .args([
            "build",
            "--release",
            "--package",
            "peer-extract",
            "--target-dir",
        ])
        .arg(&target))?;
    let program = target.join("release/peer-extract");
    let python = python(&target.join("python"))?;
    let script = peers.join("python/extract.py");
    let mut lines: Vec<String> = ["dom_smoothie", "rs-trafilatura", "trafilatura-rs"]
        .iter()
        .map(|tool| format!("{tool}={}", program.display()))
        .collect();
    lines.push(format!(
        "trafilatura={}\t{}",
        python.display(),
        script.display()
    ));
    Ok(lines.join("\n"))
}

/// The interpreter of a virtual environment that has the Python peers.
fn python(folder: &std::path::Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(root().join("xtask/peers/python/requirements.txt")))?;
    Ok(python)
}
