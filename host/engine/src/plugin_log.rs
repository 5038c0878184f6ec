//! What plugins log: bounded in number and length, and harmless to a terminal.

use crate::host::LogLevel;

/// Longest line kept, in bytes.
const MAX_LINE_BYTES: usize = 4_096;

/// The log of one call.
#[derive(Debug)]
pub(crate) struct PluginLog {
    plugin: std::sync::Arc<str>,
    left: u32,
    dropped: u64,
}

impl PluginLog {
    /// `plugin` names it in the log, e.g. `extractor:markdown`.
    pub fn new(plugin: std::sync::Arc<str>, lines: u32) -> Self {
        Self {
            plugin,
            left: lines,
            dropped: 0,
        }
    }

    /// Writes one line, or counts it as dropped.
    pub fn line(&mut self, level: LogLevel, message: &str) {
        if self.left == 0 {
            self.dropped += 1;
            return;
        }
        self.left -= 1;
        let plugin = &*self.plugin;
        let message = clean(message, MAX_LINE_BYTES);
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
                "more lines than its budget"
            );
        }
    }
}

/// Text of a stranger, cut to `max` bytes, with control characters (line ends and ANSI
/// escapes among them) and direction overrides escaped.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let mut cut = text.len().min(max);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    let mut out = String::with_capacity(cut);
    for c in text.get(..cut).unwrap_or_default().chars() {
        let hidden = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if hidden {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if cut < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_reach_no_terminal() {
        let got = clean("\u{1b}[2J\u{202e}a\nb", 100);
        assert_eq!(got, "\\u{1b}[2J\\u{202e}a\\u{a}b");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(clean("aéb", 2), "a…");
        assert_eq!(clean("aéb", 4), "aéb");
    }
}
