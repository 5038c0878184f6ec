//! Typed errors of plugin calls and of loading plugins.

use std::time::Duration;

use crate::text::{MAX_MESSAGE_BYTES, clean};

/// Why the host refused or failed a plugin's request; mirrors the WIT's `error`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The plugin's arguments are wrong.
    #[error("{0}")]
    InvalidInput(String),
    /// DNS, TLS, connection, time-out …
    #[error("{0}")]
    FetchFailed(String),
    /// Refused by guard, robots.txt, grants or quota.
    #[error("{0}")]
    Denied(String),
    /// The host failed.
    #[error("{0}")]
    Failed(String),
}

/// A budget that a call has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// CPU time of the guest.
    Cpu(Duration),
    /// Wall time of the whole call.
    Wall(Duration),
    /// Bytes of memory of the guest and of the data that the host holds for the call.
    Memory(u64),
    /// Table elements.
    Table(u64),
    /// Size of the answer, in bytes.
    Output(u64),
    /// Bytes passed to one host call.
    HostCall(u64),
    /// Open host resources.
    Handles(u32),
    /// The guest's stack.
    Stack,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu(d) => write!(f, "deadline: more than {} ms of CPU", d.as_millis()),
            Self::Wall(d) => write!(f, "deadline: more than {} ms of wall time", d.as_millis()),
            Self::Memory(b) => write!(f, "memory: more than {b} bytes"),
            Self::Table(n) => write!(f, "table: more than {n} elements"),
            Self::Output(b) => write!(f, "output: more than {b} bytes"),
            Self::HostCall(b) => write!(f, "host call: more than {b} bytes of arguments"),
            Self::Handles(n) => write!(f, "handles: more than {n} open"),
            Self::Stack => write!(f, "stack exhausted"),
        }
    }
}

/// Why the host stops a guest. Passed through wasmtime as the cause of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StopReason {
    /// A budget is exceeded.
    #[error("{0}")]
    Limit(Limit),
    /// The caller no longer waits for the result.
    #[error("the caller no longer waits")]
    Cancelled,
}

/// How one call of a plugin failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// No plugin serves this name or role.
    #[error("no {kind} plugin serves `{name}`")]
    NotFound {
        /// `extractor`, `actor` or `fetcher`.
        kind: &'static str,
        /// The requested name, role or domain.
        name: String,
    },
    /// The plugin reports that the caller's input is wrong (HTTP 422).
    #[error("{0}")]
    InvalidInput(String),
    /// The plugin could not fetch what it needed (HTTP 502).
    #[error("{0}")]
    FetchFailed(String),
    /// The host refused a request of the plugin.
    #[error("denied: {0}")]
    Denied(String),
    /// The plugin reports a failure.
    #[error("{0}")]
    Failed(String),
    /// The guest trapped (unreachable, panic, exit …); the backtrace is in the log.
    #[error("trap: {0}")]
    Trap(String),
    /// A budget is exceeded.
    #[error("{0}")]
    Limit(Limit),
    /// Its answer is not JSON, or is nested too deeply.
    #[error("bad output: {0}")]
    BadOutput(String),
    /// The engine is at capacity or shutting down.
    #[error("engine: {0}")]
    Engine(String),
}

impl PluginError {
    /// A stable lower-case name, for metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
            Self::InvalidInput(_) => "invalid-input",
            Self::FetchFailed(_) => "fetch-failed",
            Self::Denied(_) => "denied",
            Self::Failed(_) => "failed",
            Self::Trap(_) => "trap",
            Self::Limit(Limit::Cpu(_) | Limit::Wall(_)) => "deadline",
            Self::Limit(_) => "limit",
            Self::BadOutput(_) => "bad-output",
            Self::Engine(_) => "engine",
        }
    }
}

/// Why the engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The WebAssembly runtime rejected its settings, or could not reserve memory.
    #[error("plugin engine: {0}")]
    Runtime(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A thread could not be started.
    #[error("plugin engine: cannot start threads: {0}")]
    Threads(#[from] std::io::Error),
    /// The program has plugins inside that cannot be read.
    #[error("plugin engine: {0}")]
    Bundle(#[from] BundleError),
}

/// Why the plugins inside a program could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// An error of the file system.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The content was changed after it was written.
    #[error("the plugins inside the program are damaged: {0}")]
    Damaged(&'static str),
    /// There is no plugin to write, or one that cannot be written.
    #[error("{0}")]
    Refused(String),
}

/// Why a file is not, or no longer, a usable plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read, or is over the size limit.
    #[error("{0}")]
    Unreadable(String),
    /// Not WebAssembly, a core module, truncated …
    #[error("not a component: {0}")]
    NotAComponent(String),
    /// The manifest is missing or breaks a rule; names the field.
    #[error("manifest: {0}")]
    Manifest(String),
    /// The file's name differs from the one that the manifest requires.
    #[error("file name: {0}")]
    FileName(String),
    /// It imports something that is not granted, or not part of the interface.
    #[error("imports {0}, which is not granted")]
    Import(String),
    /// It lacks the export that its kind needs, or has another version of it.
    #[error("exports: {0}")]
    Export(String),
    /// It needs more memory, tables, functions … than allowed.
    #[error("limits: {0}")]
    Limits(String),
    /// Compilation failed, took too long, or could not start.
    #[error("compile: {0}")]
    Compile(String),
    /// It failed its self-test.
    #[error("self-test: {0}")]
    SelfTest(String),
}

impl LoadError {
    /// The same error with its text shortened and control characters escaped: names, manifests and
    /// compile errors are untrusted text.
    pub(crate) fn cleaned(self) -> Self {
        let clean = |text: String| clean(&text, MAX_MESSAGE_BYTES);
        match self {
            Self::Unreadable(text) => Self::Unreadable(clean(text)),
            Self::NotAComponent(text) => Self::NotAComponent(clean(text)),
            Self::Manifest(text) => Self::Manifest(clean(text)),
            Self::FileName(text) => Self::FileName(clean(text)),
            Self::Import(text) => Self::Import(clean(text)),
            Self::Export(text) => Self::Export(clean(text)),
            Self::Limits(text) => Self::Limits(clean(text)),
            Self::Compile(text) => Self::Compile(clean(text)),
            Self::SelfTest(text) => Self::SelfTest(clean(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_load_error_is_short_and_has_no_escape_sequences() {
        let name = format!("\u{1b}[2J{}", "x".repeat(1 << 20));
        let text = LoadError::Import(name).cleaned().to_string();
        assert!(text.len() < 2_100, "{} bytes", text.len());
        assert!(text.starts_with(r"imports \u{1b}[2Jxxx"), "{}", &text[..40]);
    }
}
