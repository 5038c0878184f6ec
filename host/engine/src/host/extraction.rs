//! Other plugins' roles for plugins.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::HostError;
use crate::page::Page;

/// Other plugins' roles for plugins.
#[async_trait]
pub trait ExtractionHost: Send + Sync {
    /// A role's answer for a page, JSON text. `options` is a JSON object.
    ///
    /// # Errors
    /// [`HostError`]: the plugin is told which.
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
    ) -> Result<String, HostError>;
}
