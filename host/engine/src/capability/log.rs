//! The capability `log`: log lines of a plugin, bounded in number and length, with control
//! characters escaped. Those of a project's own plugin are for its author; in the operator's log they have level
//! debug at most.

use crate::journal::{LogLevel, Reporter};
use crate::label::Label;
use crate::text::clean;

/// Longest line kept, in bytes.
const MAX_LINE_BYTES: usize = 4_096;

/// The log output of one call.
#[derive(Debug)]
pub(crate) struct PluginLog {
    plugin: Label,
    reporter: Reporter,
    left: u32,
    dropped: u64,
}

impl PluginLog {
    /// Nothing is reported yet.
    pub fn new(plugin: Label, lines: u32) -> Self {
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
        let shown = match self.plugin.is_own() {
            true => level.min(LogLevel::Debug),
            false => level,
        };
        match shown {
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
        const DROPPED: &str = "plugin log lines dropped: over budget";
        let (plugin, lines) = (&*self.plugin, self.dropped);
        if lines > 0 && self.plugin.is_own() {
            tracing::debug!(target: "plugin", plugin, plugin.dropped_lines = lines, "{DROPPED}");
        } else if lines > 0 {
            tracing::warn!(target: "plugin", plugin, plugin.dropped_lines = lines, "{DROPPED}");
        }
    }
}
