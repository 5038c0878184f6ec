//! The command line: one file per command.

mod blobs;
mod compile_plugin;
mod config;
mod crawl;
mod doctor;
#[cfg(test)]
mod documented;
mod key;
mod mcp;
mod out;
mod plugin;
mod project;
mod ready;
mod remote;
mod scan;
mod serve;
mod shell;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use orbweaver_store::{Project, Store};

use crate::config::{Flags, Loaded, load};

/// Crawl, scan and extract the web, with sandboxed plugins.
#[derive(Parser)]
#[command(
    name = "orbweaver",
    version,
    propagate_version = true,
    after_help = "Examples:\n  \
        orbweaver serve\n  \
        orbweaver scan https://example.com --format markdown\n  \
        orbweaver crawl https://example.com --out site/\n  \
        orbweaver login https://crawl.example.com\n  \
        orbweaver project create shop --tier pro\n  \
        orbweaver config > orbweaver.toml\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong usage."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args)]
struct Common {
    /// Configuration file (TOML); `orbweaver config` prints one.
    #[arg(long, global = true, value_name = "FILE", env = "ORBWEAVER_CONFIG")]
    config: Option<PathBuf>,
    /// Folder for the SQLite file and the instance's secret [default: ./data].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Database: postgres://… [default: a SQLite file in the data folder].
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Where bodies of pages are kept: s3://BUCKET/PREFIX?endpoint=URL&region=NAME or file:///FOLDER
    /// [default: in the database].
    #[arg(long, global = true, value_name = "URL")]
    blobs: Option<String>,
    /// Plugin folder [default: `plugins` beside the binary's folder; none if the program has
    /// plugins inside].
    #[arg(long, global = true, value_name = "DIR")]
    plugin_dir: Option<PathBuf>,
    /// Network that may be fetched besides the public internet; repeatable.
    #[arg(long = "allow-net", global = true, value_name = "CIDR")]
    allow_nets: Vec<String>,
    /// Browser for rendering [default: the first one on PATH].
    #[arg(long, global = true, value_name = "PROGRAM")]
    browser: Option<PathBuf>,
}

impl Common {
    fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.set("data_dir", self.data_dir.as_ref());
        flags.set("database_url", self.database_url.as_ref());
        flags.set("blobs", self.blobs.as_ref());
        flags.set("plugin_dir", self.plugin_dir.as_ref());
        flags.set(
            "allow_nets",
            (!self.allow_nets.is_empty()).then_some(&self.allow_nets),
        );
        flags.set("browser", self.browser.as_ref());
        flags
    }

    /// An option that was given and matters only in this process.
    fn option_of_this_process(&self) -> Option<&'static str> {
        let given = [
            ("--data-dir", self.data_dir.is_some()),
            ("--database-url", self.database_url.is_some()),
            ("--blobs", self.blobs.is_some()),
            ("--plugin-dir", self.plugin_dir.is_some()),
            ("--allow-net", !self.allow_nets.is_empty()),
            ("--browser", self.browser.is_some()),
        ];
        given.into_iter().find_map(|(name, is)| is.then_some(name))
    }

    fn load(&self) -> anyhow::Result<Loaded> {
        load(self.config.as_deref(), self.flags())
    }
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API.
    Serve(serve::Serve),
    /// Scan one page, or a file, and print the result.
    Scan(scan::Scan),
    /// Crawl a site and write its pages to a file or folder.
    Crawl(Box<crawl::Crawl>),
    /// Let scan, crawl, usage, plugin and mcp run at a service from now on.
    Login(remote::Login),
    /// Forget the service of `orbweaver login`, and its key.
    Logout(remote::Logout),
    /// Serve the tools of an agent over standard input and output (Model Context Protocol).
    Mcp(mcp::Mcp),
    /// Write, try and publish plugins; list, inspect and pack them.
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Create, list and change projects.
    #[command(subcommand)]
    Project(project::ProjectCommand),
    /// Create, list and revoke a project's keys.
    #[command(subcommand)]
    Key(key::Key),
    /// Move bodies of pages between the database and the blob store.
    #[command(subcommand)]
    Blobs(blobs::BlobsCommand),
    /// Show usage of projects.
    Usage(usage::UsageCommand),
    /// Print every setting with its help, default and source.
    Config(config::ConfigCommand),
    /// Report what is missing on this machine and how to get it.
    Doctor(doctor::Doctor),
    /// Ask this machine's service whether it is ready.
    Ready(ready::Ready),
    /// Print a shell's completions.
    Completions(shell::Completions),
    /// Write manual pages, one for each command.
    #[command(hide = true)]
    Manual(shell::Manual),
    /// Compile a plugin for the service that starts this.
    #[command(hide = true)]
    CompilePlugin(compile_plugin::CompilePlugin),
}

/// Name of the command line as the actor in the history of keys.
const ACTOR: &str = "cli";

/// Exit code for wrong usage.
const USAGE: u8 = 2;

/// The project with this name.
async fn project_named(store: &Store, name: &str) -> anyhow::Result<Project> {
    match store.project_named(name).await? {
        Some(project) => Ok(project),
        None => anyhow::bail!("project {name} does not exist; `orbweaver project list` shows them"),
    }
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if matches!(cli.command, Command::Serve(_) | Command::Mcp(_)) {
        serve::close_umask();
    }
    match run(cli) {
        Ok(code) => code,
        Err(error) if out::nobody_reads(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // It may quote a service, a plugin or a file.
            eprintln!("orbweaver: {}", out::shown_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(command) => command.run(&cli.common).await,
            Command::Scan(command) => command.run(&cli.common).await,
            Command::Crawl(command) => command.run(&cli.common).await,
            Command::Login(command) => command.run().await,
            Command::Logout(command) => command.run(),
            Command::Mcp(command) => command.run(&cli.common).await,
            Command::Plugin(command) => command.run(&cli.common).await,
            Command::Project(command) => command.run(&cli.common).await,
            Command::Key(command) => command.run(&cli.common).await,
            Command::Blobs(command) => command.run(&cli.common).await,
            Command::Usage(command) => command.run(&cli.common).await,
            Command::Config(command) => command.run(&cli.common),
            Command::Doctor(command) => command.run(&cli.common).await,
            Command::Ready(command) => command.run(&cli.common).await,
            Command::Completions(command) => command.run(),
            Command::Manual(command) => command.run(),
            Command::CompilePlugin(command) => Ok(command.run()),
        }
    });
    // Abandoned blocking work must not keep the process alive.
    runtime.shutdown_background();
    done
}
