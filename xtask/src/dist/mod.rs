//! `cargo xtask dist`: what users download.

mod deb;
mod image;
mod sbom;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::build;
use crate::shell::{cargo, output, root, run, target_dir};
use crate::steps::Steps;

/// The program with its plugins inside may have this many bytes.
const MAX_PROGRAM_BYTES: u64 = 80_000_000;

/// The version of everything that is written.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Write what users download to target/dist: the program with the plugins inside,
/// completions, manual pages, an archive, a Debian package, an SBOM, checksums.
#[derive(Args)]
pub struct Dist {
    /// Then install, start, upgrade and remove the package in a fresh Debian (needs root).
    #[arg(long)]
    test: bool,
    /// Then build container images, without and with a browser (needs root and buildah).
    #[arg(long)]
    images: bool,
}

impl Dist {
    pub fn run(self) -> Result<()> {
        let mut steps = Steps::default();
        let folder = folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        steps.run("build plugins", build::plugins)?;
        let bare = steps.run("build program", program)?;
        let program = folder.join("orbweaver");
        steps.run("put plugins into the program", || embed(&bare, &program))?;
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
        steps.summary();
        Ok(())
    }
}

/// Where everything is written.
fn folder() -> PathBuf {
    target_dir().join("dist")
}

/// The processor as Rust names it.
fn architecture() -> &'static str {
    std::env::consts::ARCH
}

/// The program without plugins inside. Only the last step differs from `cargo xtask build`:
/// no symbols, functions with the same code once, and packed relocations, which glibc reads
/// since 2.36.
fn program() -> Result<PathBuf> {
    run(cargo(root()).args([
        "rustc",
        "--release",
        "--locked",
        "--package",
        "orbweaver-server",
        "--bin",
        "orbweaver",
        "--",
        "-Cstrip=symbols",
        "-Clink-arg=-Wl,--icf=safe",
        "-Clink-arg=-Wl,-z,pack-relative-relocs",
    ]))?;
    Ok(target_dir().join("release/orbweaver"))
}

/// Lets the program write itself with the plugins inside, away from this machine's settings.
fn embed(bare: &Path, program: &Path) -> Result<()> {
    let data = folder().join(".data");
    let written = run(clean(bare)
        .args(["plugin", "embed", "--plugin-dir"])
        .arg(build::plugin_dir())
        .arg("--data-dir")
        .arg(&data)
        .arg("--output")
        .arg(program));
    let _ = fs::remove_dir_all(&data);
    written?;
    let size = fs::metadata(program)?.len();
    if size > MAX_PROGRAM_BYTES {
        bail!("the program has {size} bytes, {MAX_PROGRAM_BYTES} are allowed");
    }
    eprintln!("{} has {size} bytes", program.display());
    Ok(())
}

/// The program, without settings from this process's environment.
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

/// One archive for systems without a package.
fn archive(folder: &Path) -> Result<()> {
    let name = format!("orbweaver-{VERSION}-{}-linux", architecture());
    let top = folder.join(&name);
    fs::create_dir_all(&top)?;
    for file in ["README.md", "LICENSE", "CHANGELOG.md"] {
        copy(&root().join(file), &top.join(file))?;
    }
    copy(
        &root().join("deploy/orbweaver.toml"),
        &top.join("orbweaver.toml"),
    )?;
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

/// SHA256SUMS over the files that are downloaded one by one.
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
