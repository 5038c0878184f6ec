//! Rendering of pages for plugins.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::CodedError;
use crate::page::Page;

/// Renders pages for plugins in a browser.
#[async_trait]
pub trait RenderingHost: Send + Sync {
    /// Renders a page: its state after its scripts have run.
    ///
    /// # Errors
    /// A [`CodedError`], which the plugin gets.
    async fn render(&self, url: &str, wait_for: WaitFor) -> Result<Arc<Page>, CodedError>;
}

/// Event after which a rendered page counts as loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// The `load` event.
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No request for 500 ms.
    NetworkIdle,
}
