//! `cargo xtask test`.

use anyhow::Result;

use crate::build::{self, fixture_dir, plugin_dir};
use crate::setup;
use crate::shell::{self, cargo, plugin_target_dir, root};

/// Sets up what the tests need, builds plugins and fixtures, runs every test.
pub fn run(filter: Option<&str>) -> Result<()> {
    setup::test_tools()?;
    build::plugins()?;
    build::fixtures()?;

    let mut plugins = cargo(&root().join("plugins"));
    plugins
        .args(["test", "--workspace", "--all-features", "--target-dir"])
        .arg(plugin_target_dir());
    plugins.args(filter);
    shell::run(&mut plugins)?;

    let mut host = cargo(root());
    host.args(["test", "--workspace"])
        .env("ORBWEAVER_PLUGIN_DIR", plugin_dir())
        .env("ORBWEAVER_FIXTURES", fixture_dir());
    host.args(filter);
    shell::run(&mut host)
}
