//! Typed failures of plugins and of loading them.

use std::time::Duration;

/// Why the host refused or failed a plugin's request; mirrors the WIT's `error`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The plugin's arguments are wrong.
    #[error("{0}")]
    InvalidInput(String),
    /// DNS, TLS, connect, time-out …
    #[error("{0}")]
    FetchFailed(String),
    /// Guard, robots.txt, grant, quota.
    #[error("{0}")]
    Denied(String),
    /// The host itself failed.
    #[error("{0}")]
    Failed(String),
}

/// A budget that a call ran out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// CPU time in the guest.
    Cpu(Duration),
    /// Wall time of the whole call.
    Wall(Duration),
    /// Linear memory, in bytes.
    Memory(u64),
    /// Table elements.
    Table(u64),
    /// Size of the answer, in bytes.
    Output(u64),
    /// Bytes handed to one host call.
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

/// How one call of a plugin failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// No plugin serves this name or role.
    #[error("no {kind} plugin serves `{name}`")]
    NotFound {
        /// `extractor`, `actor` or `fetcher`.
        kind: &'static str,
        /// Name, role or domain asked for.
        name: String,
    },
    /// The plugin says the caller's input is wrong (HTTP 422).
    #[error("{0}")]
    InvalidInput(String),
    /// The plugin could not fetch what it needed (HTTP 502).
    #[error("{0}")]
    FetchFailed(String),
    /// The host refused what the plugin needed.
    #[error("denied: {0}")]
    Denied(String),
    /// The plugin reports that it failed.
    #[error("{0}")]
    Failed(String),
    /// The guest trapped (unreachable, panic, exit …); the backtrace is in the log.
    #[error("trap: {0}")]
    Trap(String),
    /// A budget ran out.
    #[error("{0}")]
    Limit(Limit),
    /// What it returned is not what it promised (no JSON, too deep …).
    #[error("bad output: {0}")]
    BadOutput(String),
    /// The engine is at capacity or shutting down.
    #[error("engine: {0}")]
    Engine(String),
}

impl PluginError {
    /// One lower-case word, for metrics and logs.
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

/// Why a file is not (or no longer) a plugin of this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read, or is over the size limit.
    #[error("{0}")]
    Unreadable(String),
    /// Not WebAssembly, a core module, cut short …
    #[error("not a component: {0}")]
    NotAComponent(String),
    /// The manifest is missing or breaks a rule; names the field.
    #[error("manifest: {0}")]
    Manifest(String),
    /// The file's name does not say what the manifest says.
    #[error("file name: {0}")]
    FileName(String),
    /// Imports something outside its grants, or outside the world.
    #[error("imports {0}, which is not granted")]
    Import(String),
    /// Lacks the export its kind needs, or of another version.
    #[error("exports: {0}")]
    Export(String),
    /// Asks for more memory, tables, functions … than allowed.
    #[error("limits: {0}")]
    Limits(String),
    /// Compilation failed or took too long.
    #[error("compile: {0}")]
    Compile(String),
    /// It failed its self-test.
    #[error("self-test: {0}")]
    SelfTest(String),
}
