//! Log messages for the operator. The host limits their number and length, and escapes them.

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Detailed trace.
    Trace,
    /// Details for debugging.
    Debug,
    /// Useful information.
    Info,
    /// A problem that does not stop the work.
    Warn,
    /// The work failed.
    Error,
}

/// Logs a message.
pub fn log(level: Level, message: &str) {
    super::backend::log(level, message);
}

/// Logs at [`Level::Debug`].
pub fn debug(message: &str) {
    log(Level::Debug, message);
}

/// Logs at [`Level::Info`].
pub fn info(message: &str) {
    log(Level::Info, message);
}

/// Logs at [`Level::Warn`].
pub fn warn(message: &str) {
    log(Level::Warn, message);
}

/// Logs at [`Level::Error`].
pub fn error(message: &str) {
    log(Level::Error, message);
}
