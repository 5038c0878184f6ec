//! `cargo xtask eval train`: trains the models that find the main content of pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::shell::{cargo, plugin_target_dir, root, run, target_dir};

/// Where the models and their trainer are.
const CONTENT: &str = "plugins/content";

/// Trains the page model and the block model of `plugins/content` on pages with ground truth.
/// Takes about ten minutes of two cores.
#[derive(Args)]
pub struct Train {
    /// A folder with `ground-truth.json` and `html/ID.html.gz`; repeatable.
    #[arg(long = "data", required = true)]
    data: Vec<PathBuf>,
    /// Also measures the models on sites that they were not trained on, in five parts.
    #[arg(long)]
    check: bool,
    /// Only measures: the models stay as they are.
    #[arg(long, requires = "check")]
    dry_run: bool,
}

impl Train {
    /// Writes what the models read of each page, by the extractor's own code; then trains.
    pub fn run(self) -> Result<()> {
        let plugins = root().join("plugins");
        let folder = target_dir().join("train");
        std::fs::create_dir_all(&folder)?;
        let mut dumps = Vec::new();
        for (number, data) in self.data.iter().enumerate() {
            if !data.join("ground-truth.json").is_file() {
                bail!("{}: holds no ground-truth.json", data.display());
            }
            let dump = folder.join(format!("dump-{number}"));
            run(cargo(&plugins)
                .args([
                    "run",
                    "--quiet",
                    "--release",
                    "--package",
                    "orbweaver-content",
                ])
                .args(["--example", "dump", "--target-dir"])
                .arg(plugin_target_dir())
                .arg("--")
                .arg(number.to_string())
                .arg(std::path::absolute(data)?)
                .arg(&dump))?;
            dumps.push(dump);
        }
        let content = root().join(CONTENT);
        let python = python(
            &folder.join("python"),
            &content.join("train/requirements.txt"),
        )?;
        let mut train = Command::new(python);
        train.arg(content.join("train/train.py")).args(&dumps);
        if self.check {
            train.arg("--check");
        }
        if !self.dry_run {
            train.arg("--out").arg(content.join("models"));
        }
        run(&mut train)
    }
}

/// The interpreter of a virtual environment with the trainer's packages.
fn python(folder: &Path, requirements: &Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(requirements))?;
    Ok(python)
}
