//! Values that plugins keep between calls.

use async_trait::async_trait;

use crate::error::CodedError;
use crate::kind::Kind;

/// Whose values: those of a plugin, for the project of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginId {
    /// Whether the plugin is the project's own, and not the instance's of that name.
    pub own: bool,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

/// A value and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateValue {
    /// The value.
    pub value: Vec<u8>,
    /// Increases with every write; at least 1.
    pub version: u64,
}

/// Why a value was not written; mirrors the WIT's `state.failure`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Another version is current; 0: there is no value.
    #[error("version {0} is current")]
    Conflict(u64),
    /// Anything else.
    #[error(transparent)]
    Error(#[from] CodedError),
}

/// Keeps values of plugins. The engine has checked the grant, keys and sizes.
#[async_trait]
pub trait StateHost: Send + Sync {
    /// A value; `None` if there is none.
    ///
    /// # Errors
    /// An error, which the plugin gets. The same holds for the other methods.
    async fn get(&self, plugin: &PluginId, key: &str) -> Result<Option<StateValue>, CodedError>;

    /// Writes a value, or deletes it (`None`), if `expected` is its version; 0: there is none.
    /// Returns the new version.
    async fn put(
        &self,
        plugin: &PluginId,
        key: &str,
        value: Option<Vec<u8>>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> Result<u64, StateError>;

    /// Keys with a prefix behind `after` (`None`: from the first), in byte order, at most `limit`.
    async fn keys(
        &self,
        plugin: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, CodedError>;
}
