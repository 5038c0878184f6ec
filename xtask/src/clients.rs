//! Tests of the packages in `clients/` against the program that the host's tests built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::build::plugin_dir;
use crate::setup;
use crate::shell::{root, run, target_dir};

/// Packs the Python package, installs it from the packed file, and runs its tests.
pub fn python() -> Result<()> {
    setup::python()?;
    let folder = work_folder("python")?;
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder))?;
    let pip = || {
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["--quiet", "--disable-pip-version-check"]);
        pip
    };
    let package = root().join("clients/python");
    let packed = folder.join("packed");
    run(pip()
        .args(["wheel", "--no-deps", "--wheel-dir"])
        .args([&packed, &package]))?;
    let wheel = only_file(&packed)?;
    run(pip()
        .arg("install")
        .arg(format!("{}[test]", wheel.display())))?;
    run(with_program(
        Command::new(folder.join("bin/python"))
            .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            // The package is the installed one, not the folder `src`.
            .args(["--override-ini", "pythonpath=tests"])
            .current_dir(&package),
    ))
}

/// Compiles and tests the TypeScript package, packs it, and tests it as installed from the packed file.
pub fn typescript() -> Result<()> {
    let folder = work_folder("typescript")?;
    let package = root().join("clients/typescript");
    let npm = |dir: &Path| {
        let mut npm = Command::new("npm");
        npm.current_dir(dir)
            .env("npm_config_update_notifier", "false");
        npm
    };
    run(npm(&package).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    run(with_program(npm(&package).arg("test")))?;
    let packed = folder.join("packed");
    std::fs::create_dir_all(&packed)?;
    run(npm(&package)
        .args(["pack", "--loglevel=error", "--pack-destination"])
        .arg(&packed))?;
    std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#)?;
    run(npm(&folder)
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg(only_file(&packed)?))?;
    // Within the package its own name is the folder; here it is what was installed.
    let tests = folder.join("tests");
    std::fs::create_dir_all(&tests)?;
    for file in ["client.test.mjs", "service.mjs"] {
        std::fs::copy(package.join("tests").join(file), tests.join(file))?;
    }
    run(with_program(
        Command::new("node")
            .current_dir(&folder)
            .args(["--test", "tests/client.test.mjs"]),
    ))
}

/// Compiles the node of n8n, and compares it with the API of a real server.
pub fn n8n() -> Result<()> {
    let package = root().join("clients/n8n");
    let npm = || {
        let mut npm = Command::new("npm");
        npm.current_dir(&package)
            .env("npm_config_update_notifier", "false");
        npm
    };
    // Only the types of n8n are needed, not what its packages compile.
    run(npm().args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]))?;
    run(with_program(npm().arg("test")))
}

/// An empty folder for a package's tests.
fn work_folder(name: &str) -> Result<PathBuf> {
    let folder = target_dir().join("clients").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = std::fs::read_dir(folder)?;
    let file = files.next().context("nothing was packed")??.path();
    if files.next().is_some() {
        bail!("{} has more than one file", folder.display());
    }
    Ok(file)
}

/// Says where the program and its plugins are.
fn with_program(command: &mut Command) -> &mut Command {
    command
        .env("ORBWEAVER_BINARY", target_dir().join("release/orbweaver"))
        .env("ORBWEAVER_PLUGIN_DIR", plugin_dir())
}
