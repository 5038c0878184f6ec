//! `cargo xtask dist`: the files that users download.

mod deb;
mod image;
mod sbom;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::build;
use crate::setup;
use crate::shell::{cargo, output, root, run, target_dir};
use crate::steps::Steps;

/// Maximum size of the program with its plugins inside, in bytes.
const MAX_PROGRAM_BYTES: u64 = 80_000_000;

/// Profile of the program in Cargo.toml.
const PROFILE: &str = "download";

/// Asks the server's build script to link a smaller program.
const LINK_SMALL: &str = "ORBWEAVER_LINK_SMALL";

/// Version of all files.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Write the downloads to target/dist: the program with the plugins inside, completions, manual
/// pages, an archive, a Debian package, a list of dependencies (SBOM), checksums.
#[derive(Args)]
pub struct Dist {
    /// Also install, start, upgrade and remove the package in a new Debian system (needs root).
    #[arg(long)]
    test: bool,
    /// Also build and run container images, without and with a browser (needs root and buildah).
    #[arg(long)]
    images: bool,
}

impl Dist {
    pub fn run(self) -> Result<()> {
        let steps = Steps::begin();
        let folder = folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        steps.run("build plugins", build::plugins)?;
        steps.run("build program", program)?;
        let bare = steps.run("strip symbols", || strip(&folder))?;
        let program = folder.join("orbweaver");
        steps.run("put plugins into the program", || embed(&bare, &program))?;
        fs::remove_file(bare)?;
        steps.run("completions and manual pages", || {
            completions(&program, &folder)
        })?;
        steps.run("SBOM", || sbom::write(&folder.join(sbom::file_name())))?;
        steps.run("archive", || archive(&folder))?;
        let package = steps.run("Debian package", || deb::build(&folder, VERSION))?;
        steps.run("checksums", || checksums(&folder))?;
        if self.test {
            steps.run("test the package", || verify::package(&folder, &package))?;
        }
        if self.images {
            steps.run("container images", || image::build(&folder))?;
        }
        // Last: a program that is too large has been written and tried all the same.
        steps.run("check the program's size", || check_size(&program))?;
        steps.summary();
        Ok(())
    }
}

/// The folder of all files.
fn folder() -> PathBuf {
    target_dir().join("dist")
}

/// Rust's name of this machine's processor architecture.
fn architecture() -> &'static str {
    std::env::consts::ARCH
}

/// Builds the program without plugins: optimised as a whole, which takes half an hour on two cores.
fn program() -> Result<()> {
    setup::c_tools()?;
    let mut build = cargo(root());
    build.args(["build", "--profile", PROFILE, "--workspace"]);
    if architecture() == "aarch64" {
        // Kernels for it have pages of 4, 16 or 64 KiB. jemalloc runs on those up to this size, as
        // an exponent of 2; by default, up to that of the machine that builds it.
        build.env("JEMALLOC_SYS_WITH_LG_PAGE", "16");
    }
    run(build.args(["--bin", "orbweaver"]).env(LINK_SMALL, "1"))
}

/// The program without symbols, and without plugins inside.
fn strip(folder: &Path) -> Result<PathBuf> {
    let bare = folder.join(".orbweaver");
    run(Command::new("strip")
        .arg("-o")
        .arg(&bare)
        .arg(target_dir().join(PROFILE).join("orbweaver")))?;
    Ok(bare)
}

fn check_size(program: &Path) -> Result<()> {
    let size = fs::metadata(program)?.len();
    ensure!(
        size <= MAX_PROGRAM_BYTES,
        "the program has {size} bytes, more than {MAX_PROGRAM_BYTES}"
    );
    eprintln!("{}: {size} bytes", program.display());
    Ok(())
}

/// The program writes a copy of itself with the plugins inside: with those that were built, not with
/// what a user of this machine has put beside them.
fn embed(bare: &Path, program: &Path) -> Result<()> {
    let plugins = folder().join(".plugins");
    for name in build::built_plugins()? {
        copy(&build::plugin_dir().join(&name), &plugins.join(&name))?;
    }
    let data = folder().join(".data");
    let written = run(clean(bare)
        .args(["plugin", "embed", "--force", "--plugin-dir"])
        .arg(&plugins)
        .arg("--data-dir")
        .arg(&data)
        .arg("--output")
        .arg(program));
    let _ = fs::remove_dir_all(&data);
    fs::remove_dir_all(&plugins)?;
    written
}

/// The program, without settings from the environment.
fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ORBWEAVER_") {
            command.env_remove(name);
        }
    }
    command
}

fn completions(program: &Path, folder: &Path) -> Result<()> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, file) in [
        ("bash", "orbweaver.bash"),
        ("zsh", "_orbweaver"),
        ("fish", "orbweaver.fish"),
    ] {
        let script = output(clean(program).args(["completions", shell]))?;
        fs::write(completions.join(file), script + "\n")?;
    }
    run(clean(program).arg("manual").arg(folder.join("man")))
}

/// An archive for systems without a package.
fn archive(folder: &Path) -> Result<()> {
    let name = format!("orbweaver-{VERSION}-{}-linux", architecture());
    let top = folder.join(&name);
    fs::create_dir_all(&top)?;
    for file in ["README.md", "LICENSE", "CHANGELOG.md"] {
        copy(&root().join(file), &top.join(file))?;
    }
    run(Command::new("cp")
        .args(["--recursive", "orbweaver", "completions", "man", &name])
        .current_dir(folder))?;
    // The same input gives the same bytes.
    run(Command::new("tar")
        .args([
            "--create",
            "--gzip",
            "--sort=name",
            "--owner=0",
            "--group=0",
        ])
        .args(["--numeric-owner", "--mtime=@0", "--file"])
        .args([&format!("{name}.tar.gz"), &name])
        .current_dir(folder))?;
    fs::remove_dir_all(top)?;
    Ok(())
}

/// Writes SHA256SUMS of all files.
fn checksums(folder: &Path) -> Result<()> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let sums = output(Command::new("sha256sum").args(&names).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), sums + "\n")?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
