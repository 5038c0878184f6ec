//! Files that a package installs with the program: shell completions and manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use super::out::out_bytes;

/// Print a shell's completions, for the folder in which the shell looks for them.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver completions bash > ~/.local/share/bash-completion/completions/orbweaver\n  \
    orbweaver completions zsh > ~/.zfunc/_orbweaver\n  \
    orbweaver completions fish > ~/.config/fish/completions/orbweaver.fish")]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

/// Write manual pages, one for each command.
#[derive(Args)]
pub(super) struct Manual {
    /// The folder to write to; it is created if it is missing.
    folder: PathBuf,
}

impl Completions {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "orbweaver", &mut script);
        out_bytes(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Manual {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &self.folder))
            .with_context(|| format!("cannot write to {}", self.folder.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
