//! The operator's settings of the browser.

use std::path::{Path, PathBuf};

use orbweaver_core::setting::Millis;
use orbweaver_core::settings;
use serde::{Deserialize, Serialize};

/// Browsers searched for on PATH, in order of preference: the first starts fastest and uses
/// the least memory.
pub const BROWSERS: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

/// The browser to use: the named one (a path, or a name on PATH), else the first of
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
    /// On, except for root: Chromium does not start with its sandbox as root.
    #[default]
    Auto,
    /// Always on.
    On,
    /// Always off: only if the surrounding container is the sandbox.
    Off,
}

/// How Chromium will run, given the [`Sandbox`] setting and the user of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Chromium's sandbox is on.
    Sandboxed,
    /// The sandbox is off because this process runs as root.
    OffAsRoot,
    /// The sandbox is off by the setting.
    OffBySetting,
}

impl Isolation {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandboxed => "sandboxed",
            Self::OffAsRoot => "off_as_root",
            Self::OffBySetting => "off_by_setting",
        }
    }
}

impl Sandbox {
    /// How Chromium is isolated if this process starts it.
    pub fn isolation(self) -> Isolation {
        self.isolation_as(is_root())
    }

    const fn isolation_as(self, root: bool) -> Isolation {
        match self {
            Self::On => Isolation::Sandboxed,
            Self::Off => Isolation::OffBySetting,
            Self::Auto if root => Isolation::OffAsRoot,
            Self::Auto => Isolation::Sandboxed,
        }
    }
}

fn is_root() -> bool {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

settings! {
    /// `[rendering]`: bounds of the browser pool.
    #[derive(PartialEq, Eq)]
    pub struct BrowserConfig {
        /// Pages rendered at once; further ones wait, and projects take turns.
        pub concurrent: usize = 4,
        /// Most waiting pages of one project; further ones are answered 429.
        pub queue_per_project: usize = 64,
        /// Longest wait of a page for its turn, in milliseconds; then 429.
        pub queue_ms: Millis = Millis(120_000),
        /// Longest time from opening a page to the event it waits for, in milliseconds; then
        /// the page is returned as it is.
        pub timeout_ms: Millis = Millis(30_000),
        /// Seconds in an hour that pages of one project may keep the browser busy without a result,
        /// which is free; further pages are answered 429. 0: no bound.
        pub failed_seconds_per_hour: u32 = 900,
        /// Longest time for a browser to start, in milliseconds.
        pub launch_ms: Millis = Millis(30_000),
        /// Pages that one browser renders before a new one replaces it.
        pub max_uses: u32 = 200,
        /// Memory of a browser with all its processes, in MiB, above which a new one replaces it.
        /// A page that takes more than half of it is ended; a third above it, the browser is ended,
        /// and its pages are rendered once more, each in a browser of its own. So there may be as
        /// many browsers as pages run (`rendering.concurrent`).
        pub max_memory_mib: u64 = 1_536,
        /// Most bytes that one rendered page may load, including all its resources. It may send 16 MiB.
        pub max_page_bytes: u64 = 64 << 20,
        /// Time without pages to render after which the browser is closed, in milliseconds.
        pub idle_ms: Millis = Millis(300_000),
        /// Chromium's own sandbox: on, off, or auto (off for root, because Chromium does not
        /// start with its sandbox as root).
        pub sandbox: Sandbox,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_is_off_by_setting_or_for_root() {
        for (sandbox, root, isolation) in [
            (Sandbox::Auto, false, Isolation::Sandboxed),
            (Sandbox::Auto, true, Isolation::OffAsRoot),
            (Sandbox::On, true, Isolation::Sandboxed),
            (Sandbox::Off, false, Isolation::OffBySetting),
        ] {
            assert_eq!(sandbox.isolation_as(root), isolation);
        }
    }
}
