//! The webhook events of plugins, which belong to no run.

use std::fmt;
use std::str::FromStr;

/// An event that a project's receiver is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginEvent {
    /// Calls of a plugin are refused for a while, because the last ones crashed.
    Quarantined,
    /// A call on trial has succeeded: calls are let through again.
    Recovered,
}

impl PluginEvent {
    /// Every event.
    pub const ALL: [Self; 2] = [Self::Quarantined, Self::Recovered];

    /// The event's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quarantined => "plugin.quarantined",
            Self::Recovered => "plugin.recovered",
        }
    }
}

impl fmt::Display for PluginEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is none of plugin.quarantined, plugin.recovered")]
pub struct UnknownPluginEvent;

impl FromStr for PluginEvent {
    type Err = UnknownPluginEvent;

    fn from_str(text: &str) -> Result<Self, UnknownPluginEvent> {
        Self::ALL
            .into_iter()
            .find(|event| event.as_str() == text)
            .ok_or(UnknownPluginEvent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_found_by_its_name_and_nothing_else_is() {
        for event in PluginEvent::ALL {
            assert_eq!(event.as_str().parse(), Ok(event));
        }
        for text in ["", "plugin", "crawl.done", "Plugin.quarantined"] {
            assert_eq!(
                text.parse::<PluginEvent>(),
                Err(UnknownPluginEvent),
                "{text}"
            );
        }
    }
}
