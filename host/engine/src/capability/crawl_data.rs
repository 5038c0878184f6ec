//! The capability `crawl-data`: checks grant and budgets for stored pages.

use std::sync::Arc;

use super::failure::{CallFailure, not_granted, not_offered};
use super::pages::HostPage;
use super::requests::RequestBudget;
use crate::error::CodedError;
use crate::grants::EffectivePermissions;
use crate::host::Host;
use crate::host::crawl_data::{CrawlDataHost, LinkColumns, PageRow, RunInfo};

/// Most pages or links per request.
const MAX_BATCH: u32 = 10_000;

/// Access of one call to finished crawls.
pub(crate) struct CrawlDataCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    requests: Arc<RequestBudget>,
}

impl CrawlDataCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        requests: &Arc<RequestBudget>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            requests: Arc::clone(requests),
        }
    }

    /// Returns a finished run.
    #[crate::boxed]
    pub async fn run(&self, id: i64) -> Result<RunInfo, CodedError> {
        self.granted()?.run(id).await
    }

    /// Returns pages of a run.
    #[crate::boxed]
    pub async fn pages(
        &self,
        run: i64,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<PageRow>, CodedError> {
        let limit = limit.clamp(1, MAX_BATCH);
        self.granted()?.pages(run, after, limit).await
    }

    /// Returns links of a run.
    #[crate::boxed]
    pub async fn links(
        &self,
        run: i64,
        after: Option<i64>,
        pages: u32,
    ) -> Result<LinkColumns, CodedError> {
        let pages = pages.clamp(1, MAX_BATCH);
        self.granted()?.links(run, after, pages).await
    }

    /// Returns a stored page. Its body counts as fetched bytes.
    #[crate::boxed]
    pub async fn open_page(&self, page: i64) -> Result<HostPage, CallFailure> {
        let crawls = self.granted()?;
        self.requests.bytes_left()?;
        let page = crawls.open_page(page).await?;
        self.requests.receive(page)
    }

    fn granted(&self) -> Result<&dyn CrawlDataHost, CodedError> {
        if !self.grants.crawl_data {
            return Err(not_granted("crawl-data"));
        }
        self.host
            .crawl_data()
            .ok_or_else(|| not_offered("crawl data"))
    }
}
