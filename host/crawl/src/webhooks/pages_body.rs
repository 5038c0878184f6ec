//! The body of a delivery of pages.

use chrono::{DateTime, SubsecRound as _, Utc};
use orbweaver_core::ids::{MonitorId, PageId, ProjectId, RunId};
use orbweaver_core::webhook::Event;
use orbweaver_store::Store;
use orbweaver_store::crawl::{PageRange, PageSummary};
use orbweaver_store::webhook::{MAX_PAGES, TakenPages};
use serde::Serialize;

#[derive(Serialize)]
struct PagesBody<'a> {
    event: Event,
    id: RunId,
    project_id: ProjectId,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    monitor_id: Option<MonitorId>,
    delivered_at: DateTime<Utc>,
    pages: Vec<PageBody<'a>>,
}

#[derive(Serialize)]
struct PageBody<'a> {
    id: PageId,
    url: &'a str,
    final_url: &'a str,
    status: u16,
    bytes: u64,
    fetched_at: DateTime<Utc>,
    title: Option<&'a str>,
    depth: Option<u32>,
    content_type: Option<&'a str>,
    content_hash: Option<&'a str>,
    elapsed_ms: Option<u64>,
}

impl<'a> From<&'a PageSummary> for PageBody<'a> {
    fn from(page: &'a PageSummary) -> Self {
        Self {
            id: page.item.id,
            url: &page.item.url,
            final_url: &page.final_url,
            status: page.item.status,
            bytes: page.item.bytes,
            fetched_at: page.item.fetched_at,
            title: page.title.as_deref(),
            depth: page.depth,
            content_type: page.content_type.as_deref(),
            content_hash: page.content_hash.as_deref(),
            elapsed_ms: page.elapsed_ms,
        }
    }
}

/// The body of an attempt made at `at`, of the pages' rows.
pub(super) async fn make(
    store: &Store,
    project: ProjectId,
    told: &TakenPages,
    at: DateTime<Utc>,
) -> anyhow::Result<Vec<u8>> {
    let range = PageRange {
        status: None,
        after: told.after,
        offset: 0,
        limit: MAX_PAGES,
    };
    let rows = store.run_summaries(project, told.run, &range).await?;
    let rows = rows.iter().take_while(|row| row.item.id <= told.through);
    let body = PagesBody {
        event: Event::Page,
        id: told.run,
        project_id: project,
        url: &told.run_url,
        monitor_id: told.monitor,
        delivered_at: at.trunc_subsecs(3),
        pages: rows.map(PageBody::from).collect(),
    };
    Ok(serde_json::to_vec(&body)?)
}
