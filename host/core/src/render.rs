//! Options of rendering shared by fetch, plugins and API.

use serde::{Deserialize, Serialize};

/// The event after which a document counts as loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitFor {
    /// The `load` event: the document with its images and styles.
    Load,
    /// The `DOMContentLoaded` event: the document and its scripts.
    DomContentLoaded,
    /// No network request for half a second.
    NetworkIdle,
}
