//! Options of rendering that fetch, plugins and API share.

use serde::{Deserialize, Serialize};

/// The point in a document's life at which it counts as loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitFor {
    /// The `load` event: the document with its images and styles.
    Load,
    /// The `DOMContentLoaded` event: the document and its scripts.
    DomContentLoaded,
    /// No request for half a second.
    NetworkIdle,
}
