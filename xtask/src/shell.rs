//! Runs other programs, and locates folders.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or_else(|| Path::new("."))
}

/// Build folder of the host: `CARGO_TARGET_DIR`, or `target` in the root.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Build folder of WebAssembly. It differs from the host's, because two workspaces would wait for
/// each other's lock.
pub fn plugin_target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir).join("plugins-build"),
        None => root().join("plugins").join("target"),
    }
}

/// Build folder of the tests' hostile plugins.
pub fn hostile_target_dir() -> PathBuf {
    plugin_target_dir().join("hostile")
}

/// A `cargo` command in a folder of the repository.
pub fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(dir);
    // Variables that describe this program to it. Some build scripts run again when they change (ring's),
    // and then all that is built on them, for whoever uses `cargo xtask` and `cargo` by turns.
    for (name, _) in std::env::vars_os() {
        let describes = ["CARGO_PKG_", "CARGO_MANIFEST_"];
        if (name.to_str()).is_some_and(|name| describes.iter().any(|kind| name.starts_with(kind))) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program to its end; the error names the program if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("\x1b[1m    Running\x1b[0m {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs a program; returns its standard output, trimmed.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!(
            "`{shown}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a program with this name is on PATH.
pub fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

fn show(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
