//! What an operator may set about rendering.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Browsers that are looked for on PATH, best first: the first starts fastest and needs
/// least memory.
pub const BROWSERS: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

/// The browser to use: the one named (a path, or a name on PATH), else the first of
/// [`BROWSERS`] on PATH.
pub fn find_browser(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(program) if program.components().count() > 1 => {
            program.is_file().then(|| program.to_owned())
        }
        Some(program) => on_path(program),
        None => BROWSERS.iter().find_map(|name| on_path(Path::new(name))),
    }
}

fn on_path(program: &Path) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

/// Whether Chromium isolates its processes from the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// On, but off for root, under whom Chromium's does not start.
    #[default]
    Auto,
    /// Always on.
    On,
    /// Always off: only where the container around it is the sandbox.
    Off,
}

/// Bounds of the browser pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrowserConfig {
    /// Pages rendered at once; more wait.
    pub concurrent: usize,
    /// Pages of one project that may wait for their turn.
    pub queue_per_project: usize,
    /// How long a page may wait for its turn, in milliseconds.
    pub queue_ms: u64,
    /// From opening a page to the event that it waits for, in milliseconds. What stands by
    /// then is the result.
    pub timeout_ms: u64,
    /// Start of a browser, in milliseconds.
    pub launch_ms: u64,
    /// Pages that one browser renders before a fresh one takes its place.
    pub max_uses: u32,
    /// Memory of a browser with all its processes, in MiB, beyond which a fresh one takes
    /// its place.
    pub max_memory_mib: u64,
    /// Bytes that one page may load.
    pub max_page_bytes: u64,
    /// After so long without a page the browser is closed, in milliseconds.
    pub idle_ms: u64,
    /// Chromium's own sandbox.
    pub sandbox: Sandbox,
}

impl Default for BrowserConfig {
    fn default() -> Self {
        Self {
            concurrent: 4,
            queue_per_project: 64,
            queue_ms: 120_000,
            timeout_ms: 30_000,
            launch_ms: 30_000,
            max_uses: 200,
            max_memory_mib: 1_536,
            max_page_bytes: 64 << 20,
            idle_ms: 300_000,
            sandbox: Sandbox::Auto,
        }
    }
}

impl BrowserConfig {
    pub(super) const fn queue(&self) -> Duration {
        Duration::from_millis(self.queue_ms)
    }

    pub(super) const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    pub(super) const fn launch(&self) -> Duration {
        Duration::from_millis(self.launch_ms)
    }

    pub(super) const fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}
