//! Builds plugins, fixtures and the host.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::jobs::{both, share_jobs};
use crate::setup::{self, WASM_TARGET};
use crate::shell::{cargo, hostile_target_dir, plugin_target_dir, root, run, target_dir};
use crate::steps::Steps;

/// The folder that `orbweaver serve` watches by default.
pub fn plugin_dir() -> PathBuf {
    target_dir().join("plugins")
}

/// The folder of components that only tests load.
pub fn fixture_dir() -> PathBuf {
    target_dir().join("fixtures")
}

/// `cargo xtask start`.
pub fn start(args: &[String]) -> Result<()> {
    all()?;
    let binary = target_dir().join("release/orbweaver");
    // The server replaces this process, so that it gets signals directly.
    let error = Command::new(&binary).arg("serve").args(args).exec();
    Err(error).with_context(|| format!("cannot start {}", binary.display()))
}

/// `cargo xtask build`.
pub fn all() -> Result<()> {
    let steps = Steps::begin();
    both(
        || steps.run("build plugins", plugins),
        || steps.run("build server", host),
    )?;
    steps.summary();
    Ok(())
}

/// Builds only the server, in release mode.
pub fn host() -> Result<()> {
    setup::c_tools()?;
    run(&mut host_command())
}

/// The command that builds only the server, in release mode.
pub fn host_command() -> Command {
    let mut build = cargo(root());
    build.args(["build", "--release", "--workspace", "--bin", "orbweaver"]);
    share_jobs(&mut build);
    build
}

/// The crate that is the code of [`PAGE_ROLES`].
const PAGE_ROLES_CODE: &str = "page-roles";

/// Extractors that are one component, each with a manifest of its own, so that the host runs them in one
/// instance.
const PAGE_ROLES: [&str; 6] = [
    "extract-article",
    "extract-links",
    "extract-markdown",
    "extract-metadata",
    "extract-signals",
    "extract-structured-data",
];

/// The list of the plugins that were built, in their folder. The service ignores hidden files.
const BUILT: &str = ".built";

/// `cargo xtask plugins`.
pub fn plugins() -> Result<()> {
    setup::wasm_target()?;
    let workspace = root().join("plugins");
    let crates: Vec<String> = folders(&workspace)?
        .into_iter()
        .filter(|name| {
            ["extract-", "actor-", "site-", "hook-"]
                .iter()
                .any(|kind| name.starts_with(kind))
        })
        .collect();
    let mut build = cargo(&workspace);
    build
        .args(["build", "--release", "--target", WASM_TARGET])
        .arg("--target-dir");
    build.arg(plugin_target_dir());
    let is_page_role = |name: &&String| PAGE_ROLES.contains(&name.as_str());
    let (page_roles, alone): (Vec<_>, Vec<_>) = crates.iter().partition(is_page_role);
    for name in alone
        .iter()
        .map(|name| name.as_str())
        .chain([PAGE_ROLES_CODE])
    {
        build.arg("--package").arg(format!("orbweaver-{name}"));
    }
    run(share_jobs(&mut build))?;
    let before = built_plugins()?;
    for name in alone {
        install(&component(name)?, &plugin_dir(), &file_name(name))?;
    }
    let code = component(PAGE_ROLES_CODE)?;
    for name in page_roles {
        let manifest = fs::read(workspace.join(name).join("plugin.toml"))?;
        let plugin = with_manifest(&code, &manifest);
        install(&plugin, &plugin_dir(), &file_name(name))?;
    }
    let built: Vec<String> = crates.iter().map(|name| file_name(name)).collect();
    remove_obsolete(&plugin_dir(), &before, &built)?;
    install(built.join("\n").as_bytes(), &plugin_dir(), BUILT)
}

/// The file name of the plugin of a crate.
fn file_name(name: &str) -> String {
    format!("{name}.wasm")
}

/// The plugins that the last build put into the folder. Empty if no build has left a list.
pub fn built_plugins() -> Result<Vec<String>> {
    let list = plugin_dir().join(BUILT);
    match fs::read_to_string(&list) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", list.display())),
    }
}

/// Removes the plugins of an earlier build whose source was deleted. All other files are the user's.
fn remove_obsolete(dir: &Path, before: &[String], built: &[String]) -> Result<()> {
    for name in before.iter().filter(|name| !built.contains(name)) {
        match fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {name}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The component that a crate of the plugins was built to.
fn component(name: &str) -> Result<Vec<u8>> {
    let built = plugin_target_dir().join(WASM_TARGET).join("release");
    let file = built.join(format!("orbweaver_{}.wasm", name.replace('-', "_")));
    fs::read(&file).with_context(|| format!("{} was not built", file.display()))
}

/// The component with a manifest behind it: a custom section, as `engine/manifest/section` reads it.
fn with_manifest(component: &[u8], manifest: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"orbweaver:manifest";
    let mut section = vec![NAME.len() as u8];
    section.extend_from_slice(NAME);
    section.extend_from_slice(manifest);
    let mut out = component.to_vec();
    // The id of custom sections, then the length as LEB128.
    out.push(0);
    let mut length = section.len();
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(&section);
    out
}

/// `cargo xtask build-fixtures`: hostile plugins, and the examples in three languages.
pub fn fixtures() -> Result<()> {
    hostile()?;
    run(&mut examples())
}

/// Builds the hostile plugins for tests.
pub fn hostile() -> Result<()> {
    setup::wasm_target()?;
    let workspace = root().join("tests/hostile");
    let target = hostile_target_dir();
    run(share_jobs(
        cargo(&workspace)
            .args([
                "build",
                "--release",
                "--target",
                WASM_TARGET,
                "--target-dir",
            ])
            .arg(&target),
    ))?;
    let built = target.join(WASM_TARGET).join("release");
    for file in fs::read_dir(&built)?.flatten().map(|e| e.path()) {
        if file.extension().is_some_and(|e| e == "wasm") {
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .replace('_', "-");
            install(&fs::read(&file)?, &fixture_dir(), &name)?;
        }
    }
    Ok(())
}

/// The command that builds the example plugins in Rust, JavaScript and Python.
pub fn examples() -> Command {
    let mut build = Command::new("bash");
    build
        .arg(root().join("examples/plugins/build.sh"))
        .arg(fixture_dir())
        .env("CARGO_TARGET_DIR", plugin_target_dir().join("examples"))
        .current_dir(root());
    build
}

/// Writes by rename, so that a running server never reads a partial file. An unchanged file is
/// not replaced, so that it is not loaded again.
fn install(new: &[u8], dir: &Path, name: &str) -> Result<()> {
    fs::create_dir_all(dir)?;
    let to = dir.join(name);
    if fs::read(&to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    let partial = dir.join(format!(".{name}.new"));
    fs::write(&partial, new)?;
    fs::rename(&partial, &to)?;
    Ok(())
}

fn folders(dir: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .with_context(|| format!("cannot read {}", dir.display()))?
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    if names.is_empty() {
        bail!("no crates in {}", dir.display());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_earlier_build_made_is_removed() {
        let dir = std::env::temp_dir().join(format!("orbweaver-built-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let names = ["actor-old.wasm", "extract-links.wasm", "extract-mine.wasm"];
        for name in names {
            fs::write(dir.join(name), "a plugin").unwrap();
        }
        let left = || -> Vec<&str> {
            let there = names.iter().filter(|name| dir.join(name).exists());
            there.copied().collect()
        };
        let list = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let built = list(&["extract-links.wasm"]);
        // A folder from before there was a list.
        remove_obsolete(&dir, &[], &built).unwrap();
        assert_eq!(left(), names);
        // One of the plugins has been removed by hand.
        let before = list(&["actor-gone.wasm", "actor-old.wasm", "extract-links.wasm"]);
        remove_obsolete(&dir, &before, &built).unwrap();
        assert_eq!(left(), ["extract-links.wasm", "extract-mine.wasm"]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
