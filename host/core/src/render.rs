//! Options of rendering shared by fetch, plugins and API.

use serde::{Deserialize, Serialize};

/// The point in a document's life at which it counts as loaded. After each, network and
/// document have to become quiet, for at most 5 seconds: scripts that make the page of data
/// ask for the data only then.
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
