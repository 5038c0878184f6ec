//! `cargo xtask lint` and `cargo xtask audit`: the checks of CI besides the tests.

mod boxed;
mod deploy;
mod docs;
mod frozen;
mod rules;
mod tools;

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::setup::{self, WASM_TARGET};
use crate::shell::{cargo, hostile_target_dir, plugin_target_dir, root, run};
use crate::steps::Steps;
use tools::{DENY, MACHETE};

/// Crates outside all workspaces.
const EXAMPLES: [&str; 2] = ["examples/plugins/actor-rust", "examples/webhooks/rust"];

/// Checks formatting, the workspace's own rules, unused dependencies, clippy and documentation in
/// every workspace, with warnings denied; the book's links, and the alerts. With a filter, runs
/// only steps whose name contains it. A step that fails does not stop the others: whoever mends
/// one sees all.
pub fn run_all(filter: Option<&str>) -> Result<()> {
    let steps = Steps::begin();
    let mut failed = Vec::new();
    let mut step = |name: &'static str, work: fn() -> Result<()>| {
        if filter.is_none_or(|part| name.contains(part))
            && let Err(error) = steps.run(name, work)
        {
            eprintln!("error: {error:#}");
            failed.push(name);
        }
    };
    step("rules", rules::check);
    step("frozen contract of plugins", frozen::check);
    step("formatting", formatting);
    step("unused dependencies", unused_dependencies);
    step("clippy: host", clippy_host);
    step("clippy: plugins", || {
        setup::wasm_target()?;
        clippy(
            "plugins",
            &["--workspace", "--all-targets", "--all-features"],
            &plugin_target_dir(),
        )
    });
    step("clippy: hostile plugins", || {
        clippy(
            "tests/hostile",
            &["--workspace", "--release", "--target", WASM_TARGET],
            &hostile_target_dir(),
        )
    });
    step("clippy: examples", || {
        let target = plugin_target_dir().join("examples");
        let [plugin, receiver] = EXAMPLES;
        clippy(plugin, &["--release", "--target", WASM_TARGET], &target)?;
        clippy(receiver, &["--all-targets"], &target)
    });
    step("documentation", documentation);
    step("book and links", docs::check);
    step("alerts, dashboard and Compose", deploy::check);
    steps.summary();
    anyhow::ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Checks licences, sources and bans of every dependency, and advisories if their database can be
/// fetched.
pub fn audit() -> Result<()> {
    let steps = Steps::begin();
    steps.run("licences, bans and sources", || {
        deny(&["licenses", "bans", "sources"])
    })?;
    match steps.run("fetch advisories", || {
        run(DENY.command()?.args(["fetch", "db"]))
    }) {
        Ok(()) => steps.run("advisories", || deny(&["--disable-fetch", "advisories"]))?,
        // Not a fault of the checked change, but the reader of the log must see it.
        Err(error) => eprintln!(
            "WARNING: advisories were NOT checked: their database cannot be fetched ({error:#})"
        ),
    }
    steps.summary();
    Ok(())
}

/// Checks the dependencies of the host and of the plugins with one `deny.toml`. The graph of who
/// needs a crate is left out: it is thousands of lines that hide the error.
fn deny(arguments: &[&str]) -> Result<()> {
    for manifest in ["Cargo.toml", "plugins/Cargo.toml"] {
        run(DENY
            .command()?
            .args(["--manifest-path", manifest, "--config", "deny.toml"])
            .args(["check", "--hide-inclusion-graph"])
            .args(arguments))?;
    }
    Ok(())
}

fn formatting() -> Result<()> {
    let workspaces = [".", "plugins", "tests/hostile", "xtask/peers"];
    for folder in workspaces.iter().chain(&EXAMPLES) {
        run(cargo(&root().join(folder)).args(["fmt", "--all", "--check"]))?;
    }
    Ok(())
}

/// Peers are not compiled here: only this check and their formatting apply to them.
fn unused_dependencies() -> Result<()> {
    run(MACHETE.command()?.args([
        "--with-metadata",
        "host",
        "plugins",
        "tests",
        "examples/plugins/actor-rust",
        "examples/webhooks/rust",
        "xtask/peers",
    ]))
}

/// Uses the tests' profile, so that procedural macros, build scripts and their C libraries are
/// shared with the tests.
fn clippy_host() -> Result<()> {
    setup::c_tools()?;
    run(cargo(root()).args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--profile",
        "bench",
        "--",
        "--deny",
        "warnings",
    ]))
}

fn clippy(folder: &str, which: &[&str], target: &Path) -> Result<()> {
    run(cargo(&root().join(folder))
        .arg("clippy")
        .args(which)
        .arg("--target-dir")
        .arg(target)
        .args(["--", "--deny", "warnings"]))
}

/// Broken links and similar faults in doc comments are errors.
fn documentation() -> Result<()> {
    let strict = |command: &mut Command| -> Result<()> {
        run(command.env("RUSTDOCFLAGS", "--deny warnings"))
    };
    strict(cargo(root()).args([
        "doc",
        "--no-deps",
        "--workspace",
        "--keep-going",
        "--profile",
        "bench",
    ]))?;
    strict(
        cargo(&root().join("plugins"))
            .args(["doc", "--no-deps", "--workspace", "--target-dir"])
            .arg(plugin_target_dir()),
    )
}
