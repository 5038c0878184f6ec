//! The capability `log`: log lines of a plugin, bounded in number and length, with control
//! characters escaped.

use crate::journal::{LogLevel, Reporter};
use crate::text::clean;

/// Longest line kept, in bytes.
const MAX_LINE_BYTES: usize = 4_096;

/// The log output of one call.
#[derive(Debug)]
pub(crate) struct PluginLog {
    plugin: std::sync::Arc<str>,
    reporter: Reporter,
    left: u32,
    dropped: u64,
}

impl PluginLog {
    /// `plugin` identifies it in the log, e.g. `extractor:markdown`.
    pub fn new(plugin: std::sync::Arc<str>, lines: u32) -> Self {
        Self {
            plugin,
            reporter: Reporter::NONE,
            left: lines,
            dropped: 0,
        }
    }

    /// Reports the lines from now on.
    pub fn report_to(&mut self, reporter: Reporter) {
        self.reporter = reporter;
    }

    /// Writes one line, or counts it as dropped if the budget is exhausted.
    pub fn line(&mut self, level: LogLevel, message: &str) {
        if self.left == 0 {
            self.dropped += 1;
            return;
        }
        self.left -= 1;
        let plugin = &*self.plugin;
        let message = clean(message, MAX_LINE_BYTES);
        self.reporter.line(level, &message);
        match level {
            LogLevel::Trace => tracing::trace!(target: "plugin", plugin, "{message}"),
            LogLevel::Debug => tracing::debug!(target: "plugin", plugin, "{message}"),
            LogLevel::Info => tracing::info!(target: "plugin", plugin, "{message}"),
            LogLevel::Warn => tracing::warn!(target: "plugin", plugin, "{message}"),
            LogLevel::Error => tracing::error!(target: "plugin", plugin, "{message}"),
        }
    }
}

impl Drop for PluginLog {
    fn drop(&mut self) {
        if self.dropped > 0 {
            tracing::warn!(
                target: "plugin",
                plugin = &*self.plugin,
                plugin.dropped_lines = self.dropped,
                "plugin log lines dropped: over budget"
            );
        }
    }
}
