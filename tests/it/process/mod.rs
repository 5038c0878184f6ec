//! The real program as users run it: started, used on its command line, stopped, killed.

mod browsers;
mod cli;
mod compiling;
mod crawl;
mod embedded;
mod kit;
mod life;
mod mcp;
mod mcp_at_service;
mod registry;
mod registry_trust;
mod remote;
mod safety;
mod shared_file;
mod stopped;
mod terminal;
mod traces;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::support::plugin_dir;

/// The program. Cargo builds it together with this suite and with the same features, because
/// the server's own `tests/it.rs` requires it and has the same name as this suite.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let suite = std::env::current_exe().expect("a path");
        let program = suite
            .ancestors()
            .nth(2)
            .expect("the profile's folder")
            .join("orbweaver");
        let built = program.is_file();
        assert!(built, "`cargo test --workspace` builds the program, too");
        program
    })
}

pub(crate) fn command(data: &TempDir) -> Command {
    let mut command = Command::new(program());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("ORBWEAVER_") || text.starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command
        .env("ORBWEAVER_DATA_DIR", data.path())
        // A login of whoever runs the tests is none of theirs.
        .env("XDG_CONFIG_HOME", data.path().join("user"))
        .env("ORBWEAVER_PLUGIN_DIR", plugin_dir())
        .env(
            "ORBWEAVER_PLUGINS__CACHE_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins"),
        )
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(data: &TempDir, arguments: &[&str]) -> Output {
    command(data)
        .args(arguments)
        .output()
        .expect("the program runs")
}

pub(crate) struct Served {
    process: Child,
    pub(crate) address: SocketAddr,
    greeting: String,
}

impl Served {
    /// Starts it and waits for the end of its greeting.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_logged(command.stderr(Stdio::null()))
    }

    /// As [`start`](Self::start), with the log sent where the command says.
    pub(crate) fn start_logged(command: &mut Command) -> Self {
        let mut process = command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--allow-net",
                "127.0.0.0/8",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(process.stdout.take().expect("an output")).lines();
        let mut greeting = String::new();
        let mut address = None;
        for line in lines.by_ref() {
            let line = line.expect("text");
            greeting.push_str(&line);
            greeting.push('\n');
            if let Some((_, found)) = line.split_once("listens on http://") {
                address = found.trim().parse().ok();
            }
            if line.contains("API reference") {
                break;
            }
        }
        // The rest is written at the same time; the remaining output is read to its end later.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            address: address.expect("an address"),
            greeting,
        }
    }

    /// Waits for its end, which must be a success.
    pub(crate) fn ended(mut self) {
        let status = self.process.wait().expect("an end");
        assert_eq!(status.code(), Some(0));
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .expect("kill runs");
        assert!(sent.success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
