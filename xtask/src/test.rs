//! `cargo xtask test`.

use std::env;
use std::ffi::OsString;
use std::num::NonZero;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, bail};

use crate::build::{self, fixture_dir, plugin_dir};
use crate::jobs::{both, share_jobs};
use crate::setup;
use crate::shell::{self, cargo, plugin_target_dir, root};
use crate::steps::Steps;
use crate::{clients, kit};

/// Sets up what the tests need, builds plugins and fixtures, and runs every test, or only those
/// whose name contains the filter.
///
/// The host's tests use the profile `bench`, which shares compiled dependencies with `cargo xtask
/// start`. They replace `target/release/orbweaver` with a program compiled for tests; `start`,
/// `build` and `bench` restore theirs.
pub fn run(filter: Option<&str>) -> Result<()> {
    let steps = Steps::begin();
    steps.run("set up tools", setup::test_tools)?;
    steps.run("build plugins", build::plugins)?;
    thread::scope(|scope| -> Result<()> {
        // Mostly waits for npm and pip, so it runs in parallel with the compiler.
        let examples = scope.spawn(|| build::examples().output());
        both(
            || {
                steps.run("build hostile plugins", build::hostile)?;
                steps.run("compile plugins' tests", || {
                    shell::run(share_jobs(plugin_tests().arg("--no-run")))
                })?;
                steps.run("run plugins' tests", || {
                    shell::run(plugin_tests().args(filter))
                })
            },
            || {
                steps.run("compile host's tests", || {
                    shell::run(share_jobs(host_tests().arg("--no-run")))
                })
            },
        )?;
        steps.run("wait for example plugins", || {
            let Ok(output) = examples.join() else {
                bail!("the thread that builds the examples panicked");
            };
            let output = output.context("cannot start examples/plugins/build.sh")?;
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                bail!("examples/plugins/build.sh failed ({})", output.status);
            }
            Ok(())
        })
    })?;
    steps.run("run host's tests", || {
        shell::run(
            host_tests()
                .args(filter)
                .env("ORBWEAVER_PLUGIN_DIR", plugin_dir())
                .env("ORBWEAVER_FIXTURES", fixture_dir())
                .env("RUST_TEST_THREADS", test_threads()),
        )
    })?;
    if filter.is_none() {
        steps.run("try the plugin kit", kit::test)?;
        steps.run("test Python client", clients::python)?;
        steps.run("test TypeScript client", clients::typescript)?;
        steps.run("test n8n node", clients::n8n)?;
    }
    steps.summary();
    Ok(())
}

fn plugin_tests() -> Command {
    let mut tests = cargo(&root().join("plugins"));
    tests
        .args(["test", "--workspace", "--all-features", "--no-fail-fast"])
        .arg("--target-dir")
        .arg(plugin_target_dir());
    tests
}

/// Number of host tests that run at a time, unless the environment states one: on few processors
/// one more than there usually are, because most tests wait for crawls, delays and a browser. With
/// five, the services of all tests together reserve more address space than the system gives.
fn test_threads() -> OsString {
    env::var_os("RUST_TEST_THREADS").unwrap_or_else(|| {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        processors.clamp(3, 4).to_string().into()
    })
}

fn host_tests() -> Command {
    let mut tests = cargo(root());
    // One run tells of every test that fails.
    tests.args([
        "test",
        "--workspace",
        "--profile",
        "bench",
        "--no-fail-fast",
    ]);
    tests
}
