//! `cargo xtask lint`: what CI holds the code to before it runs a test.

use anyhow::Result;

use crate::setup;
use crate::shell::{cargo, plugin_target_dir, root, run};

/// Formatting and clippy with warnings denied, in every workspace.
pub fn run_all() -> Result<()> {
    setup::wasm_target()?;
    for folder in [".", "plugins", "tests/hostile"] {
        run(cargo(&root().join(folder)).args(["fmt", "--all", "--check"]))?;
    }
    run(cargo(root()).args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    run(cargo(&root().join("plugins"))
        .args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--target-dir",
        ])
        .arg(plugin_target_dir())
        .args(["--", "--deny", "warnings"]))
}
