//! A browser for plugins.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::HostError;
use crate::page::Page;

/// A browser for plugins.
#[async_trait]
pub trait RenderingHost: Send + Sync {
    /// The page as it stands after its scripts ran.
    ///
    /// # Errors
    /// [`HostError`]: the plugin is told which.
    async fn render(&self, url: &str, wait_for: WaitFor) -> Result<Arc<Page>, HostError>;
}

/// When a rendered page counts as loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// The `load` event.
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No request for 500 ms.
    NetworkIdle,
}
