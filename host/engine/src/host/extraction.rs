//! Roles of other plugins, for plugins.

use std::sync::Arc;

use async_trait::async_trait;

use super::work::HostWork;
use crate::error::CodedError;
use crate::page::Page;

/// Lets plugins run roles of other plugins.
#[async_trait]
pub trait ExtractionHost: Send + Sync {
    /// Runs a role on a page; returns JSON text. `options` is a JSON object. What that takes is spent
    /// on `account`.
    ///
    /// # Errors
    /// A [`CodedError`], which the plugin gets.
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError>;
}
