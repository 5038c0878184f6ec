//! `cargo xtask new-plugin`: creates a plugin project, outside this repository's workspaces, that
//! builds and passes its test unchanged.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::shell::root;

/// Kind of a plugin.
#[derive(Clone, Copy, ValueEnum)]
pub enum Kind {
    /// Turns a page into data.
    Extractor,
    /// Performs a task on pages that it fetches through the host.
    Actor,
    /// Returns structured data for its domains.
    Fetcher,
    /// Decides what a crawl follows and stores.
    Hook,
}

/// Arguments of `new-plugin`.
#[derive(Args)]
pub struct NewPlugin {
    /// Name: lower-case letters, digits and hyphens.
    name: String,
    #[arg(long, value_enum, default_value = "extractor")]
    kind: Kind,
    /// Folder of the project [default: the plugin's name, in the current folder].
    #[arg(long)]
    dir: Option<PathBuf>,
}

impl NewPlugin {
    /// Creates the project.
    ///
    /// # Errors
    /// An invalid name, a folder that already exists, or a failed write.
    pub fn run(self) -> Result<()> {
        let name = &self.name;
        let well_formed = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !well_formed {
            bail!("name: lower-case letters, digits and hyphens, starting with a letter");
        }
        let (prefix, manifest, lib) = match self.kind {
            Kind::Extractor => (
                "extract",
                include_str!("../templates/extractor.plugin.toml"),
                include_str!("../templates/extractor.lib.rs"),
            ),
            Kind::Actor => (
                "actor",
                include_str!("../templates/actor.plugin.toml"),
                include_str!("../templates/actor.lib.rs"),
            ),
            Kind::Fetcher => (
                "site",
                include_str!("../templates/fetcher.plugin.toml"),
                include_str!("../templates/fetcher.lib.rs"),
            ),
            Kind::Hook => (
                "hook",
                include_str!("../templates/hook.plugin.toml"),
                include_str!("../templates/hook.lib.rs"),
            ),
        };
        let dir = self.dir.unwrap_or_else(|| PathBuf::from(name));
        if dir.exists() {
            bail!("{} already exists", dir.display());
        }
        fs::create_dir_all(dir.join("src"))
            .with_context(|| format!("cannot create {}", dir.display()))?;
        let fill = |text: &str| {
            text.replace("{{name}}", name)
                .replace("{{crate}}", &format!("{prefix}-{name}"))
                .replace("{{orbweaver}}", &root().display().to_string())
        };
        fs::write(
            dir.join("Cargo.toml"),
            fill(include_str!("../templates/Cargo.toml")),
        )?;
        fs::write(dir.join("plugin.toml"), fill(manifest))?;
        fs::write(dir.join("src/lib.rs"), fill(lib))?;
        fs::write(
            dir.join("README.md"),
            fill(include_str!("../templates/README.md")),
        )?;
        println!(
            "Created the plugin `{name}` in {}. Next steps are in its README.md.",
            dir.display()
        );
        Ok(())
    }
}
