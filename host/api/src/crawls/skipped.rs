//! GET /v1/crawls/{id}/skipped.

use std::collections::HashMap;

use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::crawl::{DuplicatePage, NoteKind, SkipReason, SkippedPlace, SkippedUrl};
use orbweaver_store::{Store, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use super::listing::{self, Params, Source};
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::memory_limit;

/// Why a URL is left out as a duplicate.
const DUPLICATE: &str = "another URL of the run leads to the same page";

/// URLs that hooks left out, in the order in which they did, then duplicates, in the order of discovery.
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
    /// The link's target, or the page; of kind `duplicate` the URL that redirects, if `page` was found as a
    /// link after that.
    url: String,
    /// `hook`, or `duplicate`: by redirects, another URL of the run leads to the same page.
    kind: &'static str,
    /// The hook, of kind `hook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    plugin: Option<String>,
    /// Why; of kind `hook` as the hook says.
    reason: String,
    /// When it was left out for the first time, of kind `hook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    noted_at: Option<DateTime<Utc>>,
    /// The URL of the page, of kind `duplicate`; absent where there is none, or where the way to it has
    /// further redirects.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    page: Option<String>,
    #[serde(skip)]
    place: SkippedPlace,
}

/// URLs that hooks of a run left out, and duplicates, with the reason; streamed.
///
/// Of hooks: links that were not followed, and pages that were not stored. Each URL is listed once for
/// each hook, at most 10,000 in a run (with the pages on which plugins failed); `skipped` of the run
/// counts all links. A response that a hook asked to fetch again is in the plugin's log.
///
/// Then all duplicates: URLs of the run that lead to the same page as another one, because one of both
/// redirects to it. The page is stored once, under the URL at which the redirects end.
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
    let (store, project) = (ctx.app.store.clone(), ctx.principal.project);
    let mut pages = HashMap::new();
    if run.progress.skipped_for(SkipReason::Duplicate) > 0 {
        memory_limit::reserve_list(&ctx, run.page_count).await?;
        pages = store.run_redirected(project, run.id).await?;
    }
    let skipped = Skipped {
        store,
        project,
        run: run.id,
        after: SkippedPlace::START,
        pages,
    };
    listing::answer(skipped, format, offset, limit).await
}

struct Skipped {
    store: Store,
    project: ProjectId,
    run: RunId,
    after: SkippedPlace,
    /// Where the run's URLs lead by a redirect, by the hash of the URL.
    pages: HashMap<u64, PageId>,
}

impl Skipped {
    fn item(&self, skipped: SkippedUrl, led: &HashMap<PageId, DuplicatePage>) -> SkippedItem {
        let place = skipped.place();
        match skipped {
            SkippedUrl::Hook(note) => SkippedItem {
                url: note.url,
                kind: NoteKind::Hook.as_str(),
                plugin: Some(note.plugin),
                reason: note.message,
                noted_at: Some(note.noted_at),
                page: None,
                place,
            },
            SkippedUrl::Duplicate(duplicate) => {
                let page = self.pages.get(&duplicate.key_hash);
                let page = page.and_then(|page| led.get(page));
                SkippedItem {
                    // A page is no duplicate of itself.
                    url: match page {
                        Some(page) => page.led_from(duplicate),
                        None => duplicate.url,
                    },
                    kind: SkipReason::Duplicate.as_str(),
                    plugin: None,
                    reason: DUPLICATE.to_owned(),
                    noted_at: None,
                    page: page.map(|page| page.url.clone()),
                    place,
                }
            }
        }
    }
}

impl Source for Skipped {
    type Item = SkippedItem;
    const COLUMNS: &'static [&'static str] =
        &["url", "kind", "plugin", "reason", "noted_at", "page"];

    async fn read(&mut self, skip: u64, limit: u32) -> Result<Vec<SkippedItem>, StoreError> {
        let skipped = self
            .store
            .run_skipped(self.project, self.run, self.after, skip, limit)
            .await?;
        let page = |skipped: &SkippedUrl| match skipped {
            SkippedUrl::Hook(_) => None,
            SkippedUrl::Duplicate(url) => self.pages.get(&url.key_hash).copied(),
        };
        let mut pages: Vec<PageId> = skipped.iter().filter_map(page).collect();
        pages.sort_unstable();
        pages.dedup();
        let led = self
            .store
            .run_duplicate_pages(self.project, self.run, &pages)
            .await?;
        let items = skipped.into_iter().map(|skipped| self.item(skipped, &led));
        Ok(items.collect())
    }

    fn keep(&mut self, items: &[SkippedItem]) {
        self.after = items.last().map_or(self.after, |item| item.place);
    }

    fn record(item: &SkippedItem) -> Vec<String> {
        vec![
            item.url.clone(),
            item.kind.to_owned(),
            item.plugin.clone().unwrap_or_default(),
            item.reason.clone(),
            item.noted_at
                .map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
                .unwrap_or_default(),
            item.page.clone().unwrap_or_default(),
        ]
    }
}
