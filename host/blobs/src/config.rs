//! Settings of a blob store.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::location::BlobUrl;
use crate::transport::Transport;

/// An access key of an S3-compatible store.
#[derive(Clone)]
pub struct Credentials {
    /// Its id.
    pub access_key_id: String,
    /// The secret.
    pub secret_access_key: String,
    /// Token of a temporary key.
    pub session_token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// Where new bodies are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewBodies {
    /// Into the blob store.
    #[default]
    Store,
    /// Into the database; the blob store is only read.
    Database,
}

impl FromStr for NewBodies {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "store" => Ok(Self::Store),
            "database" => Ok(Self::Database),
            _ => Err(format!("`{word}` is not one of store, database")),
        }
    }
}

/// Options of a blob store.
#[derive(Clone)]
pub struct BlobOptions {
    /// Where it is.
    pub url: BlobUrl,
    /// The access key. `None`: those that the environment, a web identity or the machine's
    /// metadata service gives, as for other programs that use S3.
    pub credentials: Option<Credentials>,
    /// Where new bodies are written.
    pub new_bodies: NewBodies,
    /// Longest time for one request with its repetitions.
    pub timeout: Duration,
    /// Bodies of one commit that are fewer bytes wait in the database until they fill a segment.
    pub least_segment: usize,
    /// Longest time that bodies wait in the database, unless the store fails.
    pub pack_after: Duration,
    /// How long segments without references are kept before they are deleted.
    pub keep_deleted: Duration,
    /// Age at which a segment that the database does not know is deleted.
    pub orphan_age: Duration,
    /// Tells the time: names of segments are sorted by it.
    pub now: Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>,
    /// A random number, different for each process.
    pub node: u64,
    /// Sends requests; a folder needs none.
    pub transport: Option<Arc<dyn Transport>>,
}

impl fmt::Debug for BlobOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobOptions")
            .field("url", &self.url)
            .field("new_bodies", &self.new_bodies)
            .finish_non_exhaustive()
    }
}
