//! Typed errors of plugin calls and of loading plugins.

use std::time::Duration;

use crate::text::{MAX_MESSAGE_BYTES, clean};

/// The cause of an error that crosses the sandbox's boundary: the codes of the WIT's `error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorCode {
    /// An argument or the caller's input is wrong.
    InvalidInput,
    /// The guard refuses the target.
    BlockedAddress,
    /// robots.txt refuses the target, or can't be had.
    Robots,
    /// The name of a server does not resolve.
    Dns,
    /// No connection to a server, or it broke.
    Connect,
    /// The TLS handshake with a server failed.
    Tls,
    /// A server did not answer in time.
    Timeout,
    /// A response is larger than the limit.
    TooLarge,
    /// A server's response is of no use.
    BadResponse,
    /// The host has no browser, proxy pool and so on.
    NotConfigured,
    /// A cap of the project or of the service is reached for now.
    Quota,
    /// The operator or the project has not granted it.
    NotGranted,
    /// A budget of the call is exhausted.
    Budget,
    /// The call is being ended.
    Cancelled,
    /// Anything else.
    Failed,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 15] = [
        Self::InvalidInput,
        Self::BlockedAddress,
        Self::Robots,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::TooLarge,
        Self::BadResponse,
        Self::NotConfigured,
        Self::Quota,
        Self::NotGranted,
        Self::Budget,
        Self::Cancelled,
        Self::Failed,
    ];

    /// Its name in the WIT package, in answers and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid-input",
            Self::BlockedAddress => "blocked-address",
            Self::Robots => "robots",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::TooLarge => "too-large",
            Self::BadResponse => "bad-response",
            Self::NotConfigured => "not-configured",
            Self::Quota => "quota",
            Self::NotGranted => "not-granted",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// The code of this name; [`Failed`](Self::Failed) if it is unknown.
    pub fn of(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|code| code.as_str() == name);
        known.unwrap_or(Self::Failed)
    }

    /// Whether a server could not be reached, or did not answer with what was asked for.
    pub const fn is_fetch(self) -> bool {
        matches!(
            self,
            Self::Dns
                | Self::Connect
                | Self::Tls
                | Self::Timeout
                | Self::TooLarge
                | Self::BadResponse
        )
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error with its code: what the host answers to a plugin's request, and what a plugin answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CodedError {
    /// The cause.
    pub code: ErrorCode,
    /// For people, complete without the other fields.
    pub message: String,
    /// The argument or field of the input that is wrong.
    pub field: Option<String>,
    /// When it is worth trying again, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// Longest field of a [`CodedError`], in bytes.
pub(crate) const MAX_FIELD_BYTES: usize = 200;

impl CodedError {
    /// An error with this code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            field: None,
            retry_after_ms: None,
        }
    }

    /// An argument breaks a rule. The message is `field: rule`, from which the field is taken.
    pub fn invalid(message: impl Into<String>) -> Self {
        let message = message.into();
        let is_path = |text: &str| {
            !text.is_empty()
                && text.len() <= MAX_FIELD_BYTES
                && text
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-[]".contains(&b))
        };
        let field = message.split_once(": ").map(|(field, _)| field);
        Self {
            field: field.filter(|field| is_path(field)).map(str::to_owned),
            ..Self::new(ErrorCode::InvalidInput, message)
        }
    }

    /// The host failed, or the plugin could not do its work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Failed, message)
    }

    /// The same error with its texts changed.
    #[must_use]
    pub fn map_text(self, change: impl Fn(&str) -> String) -> Self {
        Self {
            message: change(&self.message),
            field: self.field.as_deref().map(change),
            ..self
        }
    }
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
    /// The caller's project has a plugin of its own for this, which could not be loaded.
    #[error("the project's own {kind} `{name}` could not be loaded: {reason}")]
    NotLoaded {
        /// `extractor`, `actor`, `fetcher` or `hook`.
        kind: &'static str,
        /// The plugin's name.
        name: String,
        /// Why.
        reason: String,
    },
    /// The plugin's own error, or input that its schema does not accept.
    #[error(transparent)]
    Reported(#[from] CodedError),
    /// The guest trapped (unreachable, panic, exit …); the backtrace is in the log.
    #[error("trap: {0}")]
    Trap(String),
    /// A budget is exceeded.
    #[error("{0}")]
    Limit(Limit),
    /// Its answer is not JSON, is nested too deeply, or has not the shape of its built-in role.
    #[error("bad output: {0}")]
    BadOutput(String),
    /// The engine is at capacity or shutting down.
    #[error("engine: {0}")]
    Engine(String),
    /// The plugin was not called, because its last calls crashed.
    #[error(
        "the plugin is in quarantine: its last {crashes} calls crashed; it is tried again in {} s",
        retry_after.as_secs_f64().ceil()
    )]
    Quarantined {
        /// Crashes in a row.
        crashes: u32,
        /// Time until it is called again.
        retry_after: Duration,
    },
}

impl PluginError {
    /// The input breaks a rule: `field: rule`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Reported(CodedError::invalid(message))
    }

    /// The text of the rule that the input breaks, if that is the error: `field: rule`.
    pub fn invalid_input(&self) -> Option<&str> {
        match self {
            Self::Reported(error) if error.code == ErrorCode::InvalidInput => Some(&error.message),
            _ => None,
        }
    }

    /// The text with the kind in front of it, once, for lists of failures.
    pub fn told(&self) -> String {
        format!("{}: {}", self.kind(), self.why())
    }

    /// The text without the kind, for what shows the kind beside it.
    pub fn why(&self) -> String {
        let (kind, text) = (self.kind(), self.to_string());
        match self {
            Self::BadOutput(why) => why.clone(),
            _ => match text
                .strip_prefix(kind)
                .and_then(|rest| rest.strip_prefix(": "))
            {
                Some(why) => why.to_owned(),
                None => text,
            },
        }
    }

    /// A stable lower-case name, for metrics, logs and answers: the code of a plugin's own error,
    /// else what happened to the call.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
            Self::NotLoaded { .. } => "not-loaded",
            Self::Reported(error) => error.code.as_str(),
            Self::Trap(_) => "trap",
            Self::Limit(Limit::Cpu(_) | Limit::Wall(_)) => "deadline",
            Self::Limit(_) => "limit",
            Self::BadOutput(_) => "bad-output",
            Self::Engine(_) => "engine",
            Self::Quarantined { .. } => "quarantined",
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
    /// The file cannot be read.
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
    /// It imports what is not granted, or not part of the interface; says what to do about it.
    #[error("imports {0}")]
    Import(String),
    /// It lacks the export that its kind needs, or has another version of it.
    #[error("exports: {0}")]
    Export(String),
    /// It is larger, or needs more memory, tables, functions … than allowed.
    #[error("limits: {0}")]
    Limits(String),
    /// Compilation failed.
    #[error("compile: {0}")]
    Compile(String),
    /// Compilation took too long, or could not start.
    #[error("compile: {0}")]
    NotCompiled(String),
    /// It failed its self-test.
    #[error("self-test: {0}")]
    SelfTest(String),
}

impl LoadError {
    /// Whether the same file may be loaded later: the reason is not in its content.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::NotCompiled(_))
    }

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
            Self::NotCompiled(text) => Self::NotCompiled(clean(text)),
            Self::SelfTest(text) => Self::SelfTest(clean(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_as_it_is_written_and_unknown_ones_as_failed() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::of(code.as_str()), code);
        }
        for unknown in ["", "FAILED", "sold-out", "Invalid-Input"] {
            assert_eq!(ErrorCode::of(unknown), ErrorCode::Failed, "{unknown}");
        }
    }

    #[test]
    fn the_kind_of_a_failure_is_told_once() {
        let deadline = Limit::Cpu(Duration::from_secs(1));
        for (error, told) in [
            (
                PluginError::Trap("unreachable".to_owned()),
                "trap: unreachable",
            ),
            (
                PluginError::Limit(deadline),
                "deadline: more than 1000 ms of CPU",
            ),
            (
                PluginError::Limit(Limit::Memory(7)),
                "limit: memory: more than 7 bytes",
            ),
            (PluginError::BadOutput("EOF".to_owned()), "bad-output: EOF"),
            (
                PluginError::invalid("n: is no number"),
                "invalid-input: n: is no number",
            ),
        ] {
            assert_eq!(error.told(), told);
            assert_eq!(format!("{}: {}", error.kind(), error.why()), told);
        }
        let deadline = PluginError::Limit(deadline);
        assert_eq!(deadline.why(), "more than 1000 ms of CPU");
    }

    #[test]
    fn the_field_of_a_wrong_input_is_taken_from_its_message() {
        let field = |message: &str| CodedError::invalid(message).field;
        assert_eq!(field("depth: must be 1"), Some("depth".to_owned()));
        assert_eq!(
            field("hooks[0].config.n: is no number: x"),
            Some("hooks[0].config.n".to_owned())
        );
        for none in ["no rule", ": x", "two words: x", "a:b"] {
            assert_eq!(field(none), None, "{none}");
        }
    }

    #[test]
    fn the_text_of_a_load_error_is_short_and_has_no_escape_sequences() {
        let name = format!("\u{1b}[2J{}", "x".repeat(1 << 20));
        let text = LoadError::Import(name).cleaned().to_string();
        assert!(text.len() < 2_100, "{} bytes", text.len());
        assert!(text.starts_with(r"imports \u{1b}[2Jxxx"), "{}", &text[..40]);
    }
}
