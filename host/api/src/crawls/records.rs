//! GET /v1/crawls/{id}/records.

use axum::response::Response;
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::{Store, StoreError};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::listing::{self, Params, Source};
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// Records by page, in the order in which hooks made them.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Records {
    items: Vec<RecordItem>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// A record that a hook made of a page.
#[derive(Serialize, ToSchema)]
#[schema(as = CrawlRecord)]
pub(super) struct RecordItem {
    /// The page.
    #[schema(value_type = i64)]
    page_id: PageId,
    /// The page's URL.
    url: String,
    /// The hook that made it.
    hook: String,
    /// The record: any JSON.
    #[schema(value_type = Value)]
    data: Box<RawValue>,
    #[serde(skip)]
    place: i64,
}

/// The records that hooks made of a run's pages; streamed. They are readable while it runs.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/records",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The records", content(
            (Records = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
        )),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_records(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let (offset, limit, format) = query.0.window()?;
    let run = path::run(&ctx, id).await?;
    let records = Stored {
        store: ctx.app.store.clone(),
        project: ctx.principal.project,
        run: run.id,
        after: (PageId(0), -1),
    };
    listing::answer(records, format, offset, limit).await
}

struct Stored {
    store: Store,
    project: ProjectId,
    run: RunId,
    after: (PageId, i64),
}

impl Source for Stored {
    type Item = RecordItem;
    const COLUMNS: &'static [&'static str] = &["page_id", "url", "hook", "data"];
    // A record may have megabytes.
    const CHUNK: u32 = 50;

    async fn read(&mut self, skip: u64, limit: u32) -> Result<Vec<RecordItem>, StoreError> {
        let records = self
            .store
            .run_records(self.project, self.run, self.after, skip, limit)
            .await?;
        let items = records.into_iter().map(|record| {
            Ok(RecordItem {
                page_id: record.page,
                url: record.url,
                hook: record.hook,
                data: RawValue::from_string(record.data)
                    .map_err(|error| StoreError::Damaged(error.to_string()))?,
                place: record.place,
            })
        });
        items.collect()
    }

    fn keep(&mut self, items: &[RecordItem]) {
        self.after = items
            .last()
            .map_or(self.after, |item| (item.page_id, item.place));
    }

    fn record(item: &RecordItem) -> Vec<String> {
        vec![
            item.page_id.to_string(),
            item.url.clone(),
            item.hook.clone(),
            item.data.get().to_owned(),
        ]
    }
}
