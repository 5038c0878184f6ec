//! The data of the project's own runs.

use std::sync::Arc;

use async_trait::async_trait;
use orbweaver_core::ids::{PageId, RunId};
use orbweaver_engine::{CodedError, CrawlDataHost, HostWork, LinkColumns, Page, PageRow, RunInfo};
use orbweaver_pipeline::{Document, blocking_of};
use orbweaver_store::crawl::{PageItem, PageRange, Run, RunState};
use orbweaver_urls::KeyRules;

use super::{CallHost, internal};
use crate::graph::Graph;

/// Most bytes of packed links of a run that are read at once.
const MAX_LINK_BYTES: u64 = 4 << 20;
/// How many times larger they are usually once they are unpacked.
const UNPACKED: usize = 8;

impl CallHost {
    async fn finished(&self, id: i64) -> Result<Run, CodedError> {
        let run = self
            .actors
            .store
            .run(self.principal.project, RunId(id))
            .await
            .map_err(|error| internal(&error))?
            .ok_or_else(|| {
                self.missing(format!("crawl_id: there is no crawl {id} in this project"))
            })?;
        if run.status.is_over() {
            return Ok(run);
        }
        Err(CodedError::invalid(format!(
            "crawl_id: crawl {id} is {}; wait until it has ended",
            run.status
        )))
    }

    /// Whether the run is finished, which it then stays: read once for all of its pages.
    async fn check_finished(&self, id: i64) -> Result<(), CodedError> {
        if *self.finished_run.lock() != Some(id) {
            self.finished(id).await?;
            *self.finished_run.lock() = Some(id);
        }
        Ok(())
    }
}

#[async_trait]
impl CrawlDataHost for CallHost {
    async fn run(&self, id: i64) -> Result<RunInfo, CodedError> {
        let run = self.finished(id).await?;
        Ok(RunInfo {
            id,
            url: run.url,
            failed: run.status == RunState::Failed,
            page_count: run.page_count,
        })
    }

    async fn pages(
        &self,
        run: i64,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<PageRow>, CodedError> {
        self.check_finished(run).await?;
        let range = PageRange {
            status: None,
            after: PageId(after.unwrap_or_default()),
            offset: 0,
            limit,
        };
        let store = &self.actors.store;
        let items = store
            .run_pages(self.principal.project, RunId(run), &range)
            .await
            .map_err(|error| internal(&error))?;
        let row = |item: PageItem| PageRow {
            id: item.id.get(),
            url: item.url,
            status: item.status,
            bytes: item.bytes,
        };
        Ok(items.into_iter().map(row).collect())
    }

    async fn links(
        &self,
        run: i64,
        after: Option<i64>,
        pages: u32,
        account: &HostWork,
    ) -> Result<LinkColumns, CodedError> {
        let project = self.principal.project;
        let graph = self
            .graph
            .get_or_try_init(|| async {
                let run = self.finished(run).await?;
                let rules = KeyRules {
                    drop_tracking: self.actors.drop_tracking,
                };
                let loaded = Graph::load(&self.actors.store, project, &run, rules).await;
                loaded.map_err(|error| internal(&error))
            })
            .await?;
        if graph.run() != RunId(run) {
            return Err(CodedError::invalid(
                "run: a call may read the links of one run only".to_owned(),
            ));
        }
        let from = PageId(after.unwrap_or_default().saturating_add(1));
        let links = self
            .actors
            .store
            .run_links(project, RunId(run), from, pages, MAX_LINK_BYTES)
            .await
            .map_err(|error| internal(&error))?;
        let (graph, account) = (graph.clone(), account.clone());
        let packed: usize = links.rows.iter().map(|row| row.links.len()).sum();
        blocking_of(packed * UNPACKED, move || {
            account.measure(|| graph.columns(&links))
        })
        .await
        .map_err(|error| internal(&error))?
        .map_err(|error| internal(&error))
    }

    async fn graph_bytes(&self, run: i64) -> Result<u64, CodedError> {
        Ok(match self.graph.get() {
            Some(graph) => graph.held_bytes(),
            None => Graph::least_bytes(self.finished(run).await?.page_count),
        })
    }

    async fn open_page(&self, page: i64) -> Result<Arc<Page>, CodedError> {
        let (store, project) = (&self.actors.store, self.principal.project);
        let missing = || self.missing(format!("page: page {page} does not exist"));
        let record = store
            .page(project, PageId(page))
            .await
            .map_err(|error| internal(&error))?
            .ok_or_else(missing)?;
        let mut document = Document::from_store(store, project, record.page)
            .ok_or_else(|| CodedError::failed(format!("page {page} is stored without its body")))?;
        document.page().await.map_err(|error| internal(&error))
    }
}
