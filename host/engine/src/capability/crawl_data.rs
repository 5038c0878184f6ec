//! The capability `crawl-data`: checks the grant, counts the operations, and charges the memory that the host
//! holds for the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::failure::{CallFailure, not_granted, not_offered};
use super::pages::HostPage;
use super::requests::RequestBudget;
use crate::error::{CodedError, ErrorCode};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::crawl_data::{CrawlDataHost, LinkColumns, PageRow, RunInfo};
use crate::memory::MemoryCharge;

/// Most pages or links per request.
const MAX_BATCH: u32 = 10_000;
/// Operations of one call: each reads from the database.
const MAX_OPERATIONS: u32 = 100_000;

/// Access of one call to finished crawls.
pub(crate) struct CrawlDataCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    requests: Arc<RequestBudget>,
    operations: AtomicU32,
    /// For the graph of links that the host holds.
    graph: Mutex<Option<MemoryCharge>>,
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
            operations: AtomicU32::new(0),
            graph: Mutex::new(None),
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
    ) -> Result<LinkColumns, CallFailure> {
        let pages = pages.clamp(1, MAX_BATCH);
        let crawls = self.granted()?;
        // Before the graph is there, and after it has grown.
        self.hold_graph(crawls.graph_bytes(run).await?)?;
        let links = crawls.links(run, after, pages).await?;
        self.hold_graph(crawls.graph_bytes(run).await?)?;
        Ok(links)
    }

    fn hold_graph(&self, bytes: u64) -> Result<(), CallFailure> {
        let mut graph = self.graph.lock();
        match &mut *graph {
            Some(charge) => charge.resize(bytes)?,
            None => {
                *graph = Some(
                    self.requests
                        .hold(usize::try_from(bytes).unwrap_or(usize::MAX))?,
                )
            }
        }
        Ok(())
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
            return Err(not_granted(&self.grants, Need::CrawlData));
        }
        let max = MAX_OPERATIONS;
        if self.operations.fetch_add(1, Ordering::Relaxed) >= max {
            self.operations.store(max, Ordering::Relaxed);
            return Err(CodedError::new(
                ErrorCode::Budget,
                format!("the budget of {max} operations on crawl data is exhausted"),
            ));
        }
        self.host
            .crawl_data()
            .ok_or_else(|| not_offered("crawl data"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use async_trait::async_trait;

    use super::*;
    use crate::error::{Limit, StopReason};
    use crate::grants::Permissions;
    use crate::limits::LimitsConfig;
    use crate::memory::MemoryBudget;
    use crate::page::Page;

    /// Has links, and holds a graph of this many bytes for them.
    #[derive(Default)]
    struct Crawls {
        graph: AtomicU64,
        /// What each request of links adds to it.
        growth: u64,
        asked: AtomicU32,
    }

    impl Host for Crawls {
        fn crawl_data(&self) -> Option<&dyn CrawlDataHost> {
            Some(self)
        }
    }

    #[async_trait]
    impl CrawlDataHost for Crawls {
        async fn run(&self, id: i64) -> Result<RunInfo, CodedError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Ok(RunInfo {
                id,
                url: String::new(),
                failed: false,
                page_count: 0,
            })
        }

        async fn pages(&self, _: i64, _: Option<i64>, _: u32) -> Result<Vec<PageRow>, CodedError> {
            Ok(Vec::new())
        }

        async fn links(&self, _: i64, _: Option<i64>, _: u32) -> Result<LinkColumns, CodedError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.graph.fetch_add(self.growth, Ordering::Relaxed);
            Ok(LinkColumns::default())
        }

        async fn graph_bytes(&self, _: i64) -> Result<u64, CodedError> {
            Ok(self.graph.load(Ordering::Relaxed))
        }

        async fn open_page(&self, _: i64) -> Result<Arc<Page>, CodedError> {
            Ok(Page::from_html("https://e.org/", ""))
        }
    }

    /// The capability of a call that may use this much memory.
    fn capability(host: &Arc<Crawls>, bytes: u64) -> (CrawlDataCapability, Arc<MemoryBudget>) {
        let all = Permissions::all();
        let grants = Arc::new(EffectivePermissions::new(&all, &all).unwrap());
        let memory = MemoryBudget::new(bytes);
        let limits = LimitsConfig::default().actor.default;
        let requests = Arc::new(RequestBudget::new(&limits, Arc::clone(&memory)));
        let host: Arc<dyn Host> = Arc::<Crawls>::clone(host);
        (CrawlDataCapability::new(&host, &grants, &requests), memory)
    }

    #[tokio::test]
    async fn all_operations_of_a_call_count() {
        let host = Arc::new(Crawls::default());
        let (crawls, _) = capability(&host, 1 << 20);
        let per_kind = MAX_OPERATIONS / 4;
        for _ in 0..per_kind {
            crawls.run(1).await.unwrap();
            crawls.pages(1, None, 1).await.unwrap();
            crawls.links(1, None, 1).await.unwrap();
            drop(crawls.open_page(1).await.unwrap());
        }
        assert_eq!(crawls.run(1).await.unwrap_err().code, ErrorCode::Budget);
        let refused = crawls.links(1, None, 1).await.unwrap_err();
        assert!(matches!(refused, CallFailure::Refused(error) if error.code == ErrorCode::Budget));
        assert_eq!(host.asked.load(Ordering::Relaxed), per_kind * 2);
    }

    #[tokio::test]
    async fn the_graph_of_links_is_memory_of_the_call() {
        let host = Arc::new(Crawls {
            graph: AtomicU64::new(60),
            growth: 30,
            ..Crawls::default()
        });
        let (crawls, memory) = capability(&host, 100);
        crawls.links(1, None, 1).await.unwrap();
        assert_eq!(memory.peak(), 90);
        let stopped = crawls.links(1, None, 1).await.unwrap_err();
        let limit = StopReason::Limit(Limit::Memory(100));
        assert!(matches!(stopped, CallFailure::Stopped(reason) if reason == limit));
        // Too large from the start: it is not loaded.
        host.graph.store(101, Ordering::Relaxed);
        let (crawls, _) = capability(&host, 100);
        let asked = host.asked.load(Ordering::Relaxed);
        assert!(crawls.links(1, None, 1).await.is_err());
        assert_eq!(host.asked.load(Ordering::Relaxed), asked);
    }
}
