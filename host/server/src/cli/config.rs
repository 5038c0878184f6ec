//! `orbweaver config`.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::out::out;
use crate::config::reference;

/// Print every setting with its help, default and source, as a configuration file.
#[derive(Args)]
#[command(
    after_help = "Example:\n  orbweaver config > orbweaver.toml\n  orbweaver serve --config orbweaver.toml"
)]
pub(super) struct ConfigCommand {}

impl ConfigCommand {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        out!("{}", reference(&common.load()?)?.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
