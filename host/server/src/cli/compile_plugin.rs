//! `orbweaver compile-plugin`: what the service starts to compile an upload.

use std::process::ExitCode;

use clap::Args;
use orbweaver_engine::compile_for_service;

/// Compile a plugin for the service that starts this: from standard input to standard output.
#[derive(Args)]
pub(super) struct CompilePlugin {
    /// Names the service's settings of compilation.
    settings: String,
    /// The memory for it, in MiB.
    memory_mib: u64,
}

impl CompilePlugin {
    pub(super) fn run(self) -> ExitCode {
        compile_for_service(&self.settings, self.memory_mib).into()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use orbweaver_engine::COMPILE_COMMAND;

    use crate::cli::Cli;

    #[test]
    fn the_engine_knows_the_name_of_the_command() {
        assert!(Cli::command().find_subcommand(COMPILE_COMMAND).is_some());
    }
}
