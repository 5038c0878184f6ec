//! Tries the plugin kit as an author does: every template is created, built and tested by the program.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::build::plugin_dir;
use crate::shell::{self, target_dir};

/// Kind and language of every template.
const TEMPLATES: [(&str, &str); 6] = [
    ("extractor", "rust"),
    ("actor", "rust"),
    ("fetcher", "rust"),
    ("hook", "rust"),
    ("actor", "javascript"),
    ("actor", "python"),
];

/// Creates a project of each template in an empty folder, runs its unit tests, builds it, and compares
/// its answer with the expected one. Needs the program that the host's tests have built.
pub fn test() -> Result<()> {
    let program = target_dir().join("release").join("orbweaver");
    if !program.is_file() {
        bail!(
            "{} does not exist; the host's tests build it",
            program.display()
        );
    }
    let folder = target_dir().join("kit");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    for (kind, language) in TEMPLATES {
        let name = format!("first-{kind}-{language}");
        let project = folder.join(&name);
        shell::run(
            tool(&program, &folder)
                .args(["plugin", "new", &name])
                .args(["--kind", kind, "--language", language]),
        )?;
        if language == "rust" {
            shell::run(in_project(Command::new("cargo"), &project).arg("test"))?;
        }
        shell::run(tool(&program, &project).args(["plugin", "test"]))?;
    }
    Ok(())
}

/// The program in a folder, with data of its own.
fn tool(program: &Path, folder: &Path) -> Command {
    let mut command = in_project(Command::new(program), folder);
    command
        .env("ORBWEAVER_DATA_DIR", target_dir().join("kit/data"))
        .env("ORBWEAVER_PLUGIN_DIR", plugin_dir());
    command
}

/// A command in a project. The projects share the compiled SDK, and link quickly.
fn in_project(mut command: Command, project: &Path) -> Command {
    command
        .current_dir(project)
        .env("CARGO_TARGET_DIR", target_dir().join("kit/target"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}
