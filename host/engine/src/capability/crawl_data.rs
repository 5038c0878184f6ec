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
use crate::host::work::HostWork;
use crate::host_tasks::HostTasks;
use crate::memory::{Charged, MemoryCharge};
use crate::meter::Meter;

/// Most pages or links per request.
const MAX_BATCH: u32 = 10_000;
/// Rows of pages that are read from the database at once: a URL may have 16 KiB, and the rows count as the
/// call's memory once they are there.
const ROWS_AT_ONCE: u32 = 1_000;
/// Operations of one call: each reads from the database.
const MAX_OPERATIONS: u32 = 100_000;

/// Access of one call to finished crawls. All clones share its budgets.
#[derive(Clone)]
pub(crate) struct CrawlDataCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    requests: Arc<RequestBudget>,
    operations: Arc<AtomicU32>,
    account: HostWork,
    meter: Arc<Meter>,
    /// For the graph of links that the host holds.
    graph: Arc<Mutex<Option<MemoryCharge>>>,
}

impl CrawlDataCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        requests: &Arc<RequestBudget>,
        account: &HostWork,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            requests: Arc::clone(requests),
            operations: Arc::default(),
            account: account.clone(),
            meter: Arc::clone(meter),
            graph: Arc::default(),
        }
    }

    /// Returns a finished run.
    #[crate::boxed]
    pub async fn run(&self, id: i64) -> Result<RunInfo, CodedError> {
        let this = self.clone();
        let work = async move { this.granted()?.run(id).await };
        HostTasks::current().run(&self.meter, work).await
    }

    /// Returns pages of a run.
    #[crate::boxed]
    pub async fn pages(
        &self,
        run: i64,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Charged<Vec<PageRow>>, CallFailure> {
        let this = self.clone();
        let work = async move { this.pages_here(run, after, limit).await };
        HostTasks::current().run(&self.meter, work).await
    }

    async fn pages_here(
        &self,
        run: i64,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Charged<Vec<PageRow>>, CallFailure> {
        let limit = limit.min(MAX_BATCH);
        let crawls = self.granted()?;
        let (mut rows, mut after) = (Vec::new(), after);
        let mut held = self.requests.hold(0)?;
        let mut bytes = 0;
        let mut left = limit;
        while left > 0 {
            let asked = left.min(ROWS_AT_ONCE);
            let more = crawls.pages(run, after, asked).await?;
            let row_bytes = |row: &PageRow| (size_of::<PageRow>() + row.url.len()) as u64;
            bytes += more.iter().map(row_bytes).sum::<u64>();
            held.resize(bytes)?;
            left -= asked;
            if (more.len() as u64) < u64::from(asked) {
                left = 0;
            }
            after = more.last().map_or(after, |row| Some(row.id));
            rows.extend(more);
        }
        Ok(Charged::new(rows, held))
    }

    /// Returns links of a run.
    #[crate::boxed]
    pub async fn links(
        &self,
        run: i64,
        after: Option<i64>,
        pages: u32,
    ) -> Result<Charged<LinkColumns>, CallFailure> {
        let this = self.clone();
        let work = async move { this.links_here(run, after, pages).await };
        HostTasks::current().run(&self.meter, work).await
    }

    async fn links_here(
        &self,
        run: i64,
        after: Option<i64>,
        pages: u32,
    ) -> Result<Charged<LinkColumns>, CallFailure> {
        let pages = pages.clamp(1, MAX_BATCH);
        let crawls = self.granted()?;
        self.account.check()?;
        // Before the graph is there, and after it has grown.
        self.hold_graph(crawls.graph_bytes(run).await?)?;
        let links = crawls.links(run, after, pages, &self.account).await?;
        self.hold_graph(crawls.graph_bytes(run).await?)?;
        let held = self.requests.hold(bytes_of(&links))?;
        Ok(Charged::new(links, held))
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
        let this = self.clone();
        let work = async move {
            let crawls = this.granted()?;
            this.requests.bytes_left()?;
            let page = crawls.open_page(page).await?;
            this.requests.receive(page)
        };
        HostTasks::current().run(&self.meter, work).await
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

/// Bytes of these columns.
fn bytes_of(links: &LinkColumns) -> usize {
    let LinkColumns {
        from_page,
        to_page,
        anchor,
        nofollow,
        anchors,
        next: _,
    } = links;
    let texts = anchors.iter().map(|text| size_of::<String>() + text.len());
    size_of_val(from_page.as_slice())
        + size_of_val(to_page.as_slice())
        + size_of_val(anchor.as_slice())
        + size_of_val(nofollow.as_slice())
        + texts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

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
        /// What each request of links takes.
        cpu: Duration,
        /// The answer to each request of links.
        columns: LinkColumns,
        /// Rows of pages.
        rows: Vec<PageRow>,
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

        async fn pages(
            &self,
            _: i64,
            after: Option<i64>,
            limit: u32,
        ) -> Result<Vec<PageRow>, CodedError> {
            let rows = self.rows.iter().filter(|row| Some(row.id) > after);
            Ok(rows.take(limit as usize).cloned().collect())
        }

        async fn links(
            &self,
            _: i64,
            _: Option<i64>,
            _: u32,
            account: &HostWork,
        ) -> Result<LinkColumns, CodedError> {
            account.spend(self.cpu);
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.graph.fetch_add(self.growth, Ordering::Relaxed);
            Ok(self.columns.clone())
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
        let host_cpu = Duration::from_secs(1);
        let all = Permissions::all();
        let grants = Arc::new(EffectivePermissions::new(&all, &all).unwrap());
        let memory = MemoryBudget::new(bytes);
        let limits = LimitsConfig::default().actor.default;
        let requests = Arc::new(RequestBudget::new(&limits, Arc::clone(&memory)));
        let host: Arc<dyn Host> = Arc::<Crawls>::clone(host);
        let account = HostWork::new(host_cpu);
        let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
        (
            CrawlDataCapability::new(&host, &grants, &requests, &account, &meter),
            memory,
        )
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

    fn rows(count: i64, url_bytes: usize) -> Vec<PageRow> {
        let row = |id| PageRow {
            id,
            url: "x".repeat(url_bytes),
            status: 200,
            bytes: 0,
        };
        (1..=count).map(row).collect()
    }

    #[tokio::test]
    async fn rows_are_memory_of_the_call_while_they_are_read() {
        let host = Arc::new(Crawls {
            rows: rows(4_000, 1_000),
            ..Crawls::default()
        });
        let (crawls, memory) = capability(&host, 3 << 20);
        let ids = |rows: Charged<Vec<PageRow>>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
        let some = crawls.pages(1, Some(10), 2_500).await.unwrap();
        assert_eq!(ids(some), (11..=2_510).collect::<Vec<_>>());
        let last = crawls.pages(1, Some(2_000), 10_000).await.unwrap();
        assert!(memory.charge(2 << 20).is_err(), "unread rows count");
        assert_eq!(ids(last), (2_001..=4_000).collect::<Vec<_>>());
        assert!((2 << 20..3 << 20).contains(&memory.peak()));
        let stopped = crawls.pages(1, None, 10_000).await.unwrap_err();
        let limit = StopReason::Limit(Limit::Memory(3 << 20));
        assert!(matches!(stopped, CallFailure::Stopped(reason) if reason == limit));
        assert!(memory.charge(3 << 20).is_ok(), "the rows count on");
    }

    #[tokio::test]
    async fn links_end_with_the_hosts_time() {
        let host = Arc::new(Crawls {
            cpu: Duration::from_millis(250),
            ..Crawls::default()
        });
        let (crawls, _) = capability(&host, 1 << 20);
        for _ in 0..4 {
            crawls.links(1, None, 1).await.unwrap();
        }
        let refused = crawls.links(1, None, 1).await.unwrap_err();
        assert!(matches!(refused, CallFailure::Refused(error) if error.code == ErrorCode::Budget));
    }

    #[tokio::test]
    async fn the_graph_of_links_is_memory_of_the_call() {
        let host = Arc::new(Crawls {
            graph: AtomicU64::new(60),
            growth: 30,
            columns: LinkColumns {
                nofollow: vec![false; 5],
                ..LinkColumns::default()
            },
            ..Crawls::default()
        });
        let (crawls, memory) = capability(&host, 100);
        let links = crawls.links(1, None, 1).await.unwrap();
        assert_eq!(memory.peak(), 95);
        assert!(memory.charge(10).is_err(), "unread links count");
        drop(links);
        assert!(memory.charge(10).is_ok());
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
