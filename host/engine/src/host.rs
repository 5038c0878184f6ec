//! Traits for the services that a plugin may request from its host, one module per capability. The
//! server implements them, so that the engine needs no sockets, browser, database or quota.

pub(crate) mod crawl_data;
pub(crate) mod extraction;
pub(crate) mod http;
pub(crate) mod job;
pub(crate) mod rendering;
pub(crate) mod state;
pub(crate) mod work;

use std::sync::Arc;

use crawl_data::CrawlDataHost;
use extraction::ExtractionHost;
use http::HttpHost;
use job::JobHost;
use rendering::RenderingHost;
use state::StateHost;

use crate::journal::CallOrigin;

/// Gives hooks what they may ask of the host: their values.
pub trait HookHosts: Send + Sync + 'static {
    /// The host of a hook's call; `None`: it is made for no project.
    fn of(&self, caller: Option<&CallOrigin>) -> Arc<dyn Host>;
}

/// The host of one call of an actor or fetcher, or of a hook for a project; it knows the project
/// that pays. By default every capability is missing; a missing one returns
/// [`ErrorCode::NotConfigured`](crate::ErrorCode::NotConfigured).
pub trait Host: Send + Sync + 'static {
    /// HTTP requests.
    fn http(&self) -> Option<&dyn HttpHost> {
        None
    }

    /// A browser.
    fn rendering(&self) -> Option<&dyn RenderingHost> {
        None
    }

    /// Roles of other plugins.
    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        None
    }

    /// Finished crawls of the project.
    fn crawl_data(&self) -> Option<&dyn CrawlDataHost> {
        None
    }

    /// Values that the plugin keeps.
    fn state(&self) -> Option<&dyn StateHost> {
        None
    }

    /// The request or run that the call is part of.
    fn job(&self) -> Option<&dyn JobHost> {
        None
    }
}

/// A host without capabilities: for extractors and self-tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}
