//! GET /v1/crawls/{id}/skipped.

use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_store::crawl::NoteKind;
use orbweaver_store::{Store, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use super::listing::{self, Params, Source};
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// URLs in the order in which they were left out.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct SkippedUrls {
    items: Vec<SkippedItem>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// A URL that was left out.
#[derive(Serialize, ToSchema)]
#[schema(as = SkippedUrl)]
pub(super) struct SkippedItem {
    /// The link's target, or the page.
    url: String,
    /// `hook`.
    kind: &'static str,
    /// The hook.
    plugin: String,
    /// Why, as the hook says.
    reason: String,
    /// When it was left out for the first time.
    noted_at: DateTime<Utc>,
    #[serde(skip)]
    id: i64,
}

/// URLs that hooks of a run left out, with the reason; streamed.
///
/// Links that were not followed, and pages that were not stored. Each URL is listed once for each hook,
/// at most 10,000 in a run (with the pages on which plugins failed); `skipped` of the run counts all
/// links. A response that a hook asked to fetch again is in the plugin's log.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/skipped",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The URLs", content(
            (SkippedUrls = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
        )),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_skipped(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let (offset, limit, format) = query.0.window()?;
    let run = path::run(&ctx, id).await?;
    let skipped = Skipped {
        store: ctx.app.store.clone(),
        project: ctx.principal.project,
        run: run.id,
        after: i64::MIN,
    };
    listing::answer(skipped, format, offset, limit).await
}

struct Skipped {
    store: Store,
    project: ProjectId,
    run: RunId,
    after: i64,
}

impl Source for Skipped {
    type Item = SkippedItem;
    const COLUMNS: &'static [&'static str] = &["url", "kind", "plugin", "reason", "noted_at"];

    async fn read(&mut self, skip: u64, limit: u32) -> Result<Vec<SkippedItem>, StoreError> {
        let kind = NoteKind::Hook;
        let notes = self
            .store
            .run_notes(self.project, self.run, kind, self.after, skip, limit)
            .await?;
        let items = notes.into_iter().map(|note| SkippedItem {
            url: note.url,
            kind: kind.as_str(),
            plugin: note.plugin,
            reason: note.message,
            noted_at: note.noted_at,
            id: note.id,
        });
        Ok(items.collect())
    }

    fn keep(&mut self, items: &[SkippedItem]) {
        self.after = items.last().map_or(self.after, |item| item.id);
    }

    fn record(item: &SkippedItem) -> Vec<String> {
        vec![
            item.url.clone(),
            item.kind.to_owned(),
            item.plugin.clone(),
            item.reason.clone(),
            item.noted_at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        ]
    }
}
