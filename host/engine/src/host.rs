//! Plain traits for what a plugin may ask of its host, one module per capability. The server
//! implements them, so that sockets, browser, database and quota stay out of the engine.

pub(crate) mod crawl_data;
pub(crate) mod extraction;
pub(crate) mod http;
pub(crate) mod rendering;

use crawl_data::CrawlDataHost;
use extraction::ExtractionHost;
use http::HttpHost;
use rendering::RenderingHost;

/// The host of one actor or fetcher call: it knows the project that pays. Every capability
/// is missing by default, and what is missing answers [`HostError::Denied`](crate::HostError::Denied).
pub trait Host: Send + Sync + 'static {
    /// HTTP requests.
    fn http(&self) -> Option<&dyn HttpHost> {
        None
    }

    /// A browser.
    fn rendering(&self) -> Option<&dyn RenderingHost> {
        None
    }

    /// Other plugins' roles.
    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        None
    }

    /// Finished crawls of the caller's project.
    fn crawl_data(&self) -> Option<&dyn CrawlDataHost> {
        None
    }
}

/// A host that offers nothing: for extractors and self-tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}
