//! Tries the plugin kit as an author does: every template is created, built and tested by the program.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::build::plugin_dir;
use crate::shell::{self, target_dir};

/// Languages and kinds; each pair is a template.
const LANGUAGES: [&str; 3] = ["rust", "javascript", "python"];
const KINDS: [&str; 4] = ["extractor", "actor", "fetcher", "hook"];

/// The file that names what a project installs, and the folder where it is then.
const INSTALLED: [(&str, &str); 2] = [
    ("package.json", "node_modules"),
    ("requirements.txt", ".venv"),
];

/// Creates a project of each template in an empty folder, runs its unit tests, builds it, and compares
/// its answers with the expected ones. Needs the program that the host's tests have built.
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
    let mut installs = Installs::default();
    for language in LANGUAGES {
        for kind in KINDS {
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
            installs.share(&project)?;
            shell::run(tool(&program, &project).args(["plugin", "test"]))?;
        }
    }
    Ok(())
}

/// Where the tool chains of scripting languages are installed, by what was to be installed. Projects that
/// ask for the same share it: a tool chain has up to 400 MB.
#[derive(Default)]
struct Installs(HashMap<String, PathBuf>);

impl Installs {
    /// Lets a project use what an earlier one has installed, if that is the same.
    fn share(&mut self, project: &Path) -> Result<()> {
        for (file, installed) in INSTALLED {
            let path = project.join(file);
            if !path.is_file() {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            // The name is the only thing in it that is the project's own.
            let wanted = text.lines().filter(|line| !line.contains("\"name\""));
            let wanted: String = wanted.collect();
            let own = project.join(installed);
            match self.0.get(&wanted) {
                Some(earlier) => std::os::unix::fs::symlink(earlier, own)?,
                None => {
                    self.0.insert(wanted, own);
                }
            }
        }
        Ok(())
    }
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
