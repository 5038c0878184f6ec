//! The stored form of a fetched page.

use chrono::{DateTime, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{ProjectId, RunId};

use crate::accounts::CloudMode;
use crate::bodies::encoding::StoredBody;

/// A fetched page to store.
#[derive(Clone, Debug)]
pub struct NewPage {
    /// The project that owns it.
    pub project: ProjectId,
    /// The run it belongs to; `None` for a scan.
    pub run: Option<RunId>,
    /// URL as requested.
    pub url: String,
    /// Normalised URL.
    pub url_key: String,
    /// The URL that answered.
    pub final_url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
    /// Hash of the visible content, lower-case hex.
    pub content_hash: Option<String>,
    /// Kind of its body.
    pub kind: Kind,
    /// User agent as requested; empty if the service chose one.
    pub user_agent: String,
    /// How the page was fetched.
    pub cloud_mode: CloudMode,
    /// Response headers, a JSON array of `[name, value]`.
    pub headers: String,
    /// Kept for a page without a body: a JSON object of metadata and signals.
    pub metadata: Option<String>,
    /// The body, if it is to be stored.
    pub body: Option<StoredBody>,
}

/// A record to store with its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// The name of the hook that made it.
    pub hook: String,
    /// JSON text.
    pub data: String,
}
