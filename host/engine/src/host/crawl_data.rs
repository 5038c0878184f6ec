//! Pages and links of finished crawls for plugins.

use std::sync::Arc;

use async_trait::async_trait;

use super::work::HostWork;
use crate::error::CodedError;
use crate::page::Page;

/// Gives plugins access to finished crawls of the project.
#[async_trait]
pub trait CrawlDataHost: Send + Sync {
    /// Returns a finished run of the project.
    ///
    /// # Errors
    /// A [`CodedError`], which the plugin gets. The same holds for the other methods.
    async fn run(&self, id: i64) -> Result<RunInfo, CodedError>;

    /// Pages with an id above `after` (`None`: from the first), ascending, at most `limit`.
    async fn pages(
        &self,
        run: i64,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<PageRow>, CodedError>;

    /// Internal links of the next `pages` pages after page `after`. What that takes is spent on `account`.
    async fn links(
        &self,
        run: i64,
        after: Option<i64>,
        pages: u32,
        account: &HostWork,
    ) -> Result<LinkColumns, CodedError>;

    /// Bytes that the host holds until the call's end to answer [`links`](Self::links) of a run, as far as is
    /// known: they count as memory of the call.
    async fn graph_bytes(&self, run: i64) -> Result<u64, CodedError> {
        let _ = run;
        Ok(0)
    }

    /// A stored page with its body.
    async fn open_page(&self, page: i64) -> Result<Arc<Page>, CodedError>;
}

/// A finished crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// The run's id.
    pub id: i64,
    /// Its seed URL.
    pub url: String,
    /// Whether it failed; it may have pages all the same.
    pub failed: bool,
    /// Number of page rows.
    pub page_count: u64,
}

/// A page row of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// The row's id.
    pub id: i64,
    /// Normalised URL.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
}

/// Links of a batch of pages, one element of each column per link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkColumns {
    /// Page ids.
    pub from_page: Vec<i64>,
    /// The link's target: a page of the same run. Links to other targets are left out.
    pub to_page: Vec<i64>,
    /// Index into `anchors`.
    pub anchor: Vec<u32>,
    /// Whether the link has `rel=nofollow`.
    pub nofollow: Vec<bool>,
    /// Distinct anchor texts.
    pub anchors: Vec<String>,
    /// `after` of the next batch; `None` at the end.
    pub next: Option<i64>,
}
