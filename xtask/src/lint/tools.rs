//! Checking programs, installed once into the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell::{cargo, root, run, target_dir};

/// Finds dependencies that no source file uses.
pub const MACHETE: Tool = Tool {
    name: "cargo-machete",
    version: "0.9.2",
};

/// Checks licences, sources and published advisories of dependencies.
pub const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

/// A program from crates.io.
pub struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    /// The program, installed if it is missing. Each version has its own folder.
    pub fn command(&self) -> Result<Command> {
        let folder = self.folder();
        let program = folder.join("bin").join(self.name);
        if !program.is_file() {
            // Not optimised: it compiles much faster, and only runs for seconds.
            run(cargo(root())
                .args(["install", "--locked", "--debug", "--root"])
                .arg(&folder)
                .arg(format!("{}@{}", self.name, self.version))
                .env("CARGO_TARGET_DIR", target_dir().join("tools/build"))
                // Nobody steps through it.
                .env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
        }
        let mut command = Command::new(program);
        command.current_dir(root());
        Ok(command)
    }

    fn folder(&self) -> PathBuf {
        let name = format!("{}-{}", self.name, self.version);
        target_dir().join("tools").join(name)
    }
}
