//! GET /v1/crawls/{old_id}/diff/{new_id}.

use axum::response::Response;
use orbweaver_core::ids::{PageId, RunId};
use orbweaver_pipeline::TextChange;
use orbweaver_store::crawl::{DifferentPage, RunDiff};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{self, TwoRuns};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::memory_limit;

/// Pages whose texts are compared for one answer.
const MAX_TEXTS: usize = 25;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// Adds `text` to the first 25 items of `changed` and `gone`: what has changed in the
    /// page's Markdown, its title and its canonical URL.
    #[param(default = false)]
    text: Option<bool>,
    /// Only the page with this URL, as in the items.
    url: Option<String>,
}

/// Differences between two runs, by the content hashes of their pages.
#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiff)]
pub(super) struct Diff {
    #[schema(value_type = i64)]
    old_run_id: RunId,
    #[schema(value_type = i64)]
    new_run_id: RunId,
    summary: Summary,
    /// Pages of the new run only.
    added: Vec<Single>,
    /// Pages of the old run that the new one tried and did not find.
    removed: Vec<Single>,
    /// Pages of both runs whose content differs, except those that are gone or unavailable.
    changed: Vec<Changed>,
    /// Pages that answered 2xx in the old run and answer 404 or 410 in the new one.
    #[schema(extensions(("x-extension" = json!(true))))]
    gone: Vec<Changed>,
    /// Pages of the old run that the new one did not reach: it was cut short (by
    /// `max_pages`, `depth`, a cap), or they gave no answer.
    #[schema(extensions(("x-extension" = json!(true))))]
    unvisited: Vec<Single>,
    /// Pages that answered 408, 425, 429 or 5xx in one of the runs, or in both: their content is not
    /// compared. A monitor does not tell of them.
    #[schema(extensions(("x-extension" = json!(true))))]
    unavailable: Vec<Unavailable>,
}

/// Number of pages, whatever `url` is.
#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffSummary)]
struct Summary {
    added: usize,
    removed: usize,
    changed: usize,
    unchanged: u64,
    #[schema(extensions(("x-extension" = json!(true))))]
    gone: usize,
    #[schema(extensions(("x-extension" = json!(true))))]
    unvisited: usize,
    #[schema(extensions(("x-extension" = json!(true))))]
    unavailable: usize,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffPage)]
struct Single {
    url: String,
    /// Content hash.
    hash: Option<String>,
    /// HTTP status.
    #[schema(extensions(("x-extension" = json!(true))))]
    status: Option<u16>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffChange)]
struct Changed {
    url: String,
    old_hash: Option<String>,
    new_hash: Option<String>,
    /// HTTP status in the old run.
    #[schema(extensions(("x-extension" = json!(true))))]
    old_status: Option<u16>,
    /// HTTP status in the new run.
    #[schema(extensions(("x-extension" = json!(true))))]
    new_status: Option<u16>,
    /// With `text=true`; null where a run has not stored the page's HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<TextChange>, extensions(("x-extension" = json!(true))))]
    text: Option<Option<TextChange>>,
    #[serde(skip)]
    pages: Option<(PageId, PageId)>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffUnavailable)]
struct Unavailable {
    url: String,
    /// HTTP status in the old run; null if it does not have the page.
    old_status: Option<u16>,
    /// HTTP status in the new run; null if it does not have the page.
    new_status: Option<u16>,
}

impl From<DifferentPage> for Unavailable {
    fn from(page: DifferentPage) -> Self {
        Self {
            url: page.url,
            old_status: page.old_status,
            new_status: page.new_status,
        }
    }
}

impl Single {
    fn added(page: DifferentPage) -> Self {
        Self {
            url: page.url,
            hash: page.new_hash,
            status: page.new_status,
        }
    }

    fn lost(page: DifferentPage) -> Self {
        Self {
            url: page.url,
            hash: page.old_hash,
            status: page.old_status,
        }
    }
}

impl From<DifferentPage> for Changed {
    fn from(page: DifferentPage) -> Self {
        Self {
            url: page.url,
            old_hash: page.old_hash,
            new_hash: page.new_hash,
            old_status: page.old_status,
            new_status: page.new_status,
            text: None,
            pages: page.old_page.zip(page.new_page),
        }
    }
}

impl Diff {
    /// The differences of all pages, or of the page with one URL.
    fn new(runs: TwoRuns, diff: RunDiff, url: Option<&str>) -> Self {
        let named = |page: &DifferentPage| url.is_none_or(|url| page.url == url);
        let singles =
            |pages: Vec<DifferentPage>, single: fn(DifferentPage) -> Single| -> Vec<Single> {
                pages.into_iter().filter(named).map(single).collect()
            };
        let changes = |pages: Vec<DifferentPage>| -> Vec<Changed> {
            pages.into_iter().filter(named).map(Changed::from).collect()
        };
        Self {
            old_run_id: runs.old,
            new_run_id: runs.new,
            summary: Summary {
                added: diff.added.len(),
                removed: diff.removed.len(),
                changed: diff.changed.len(),
                unchanged: diff.unchanged,
                gone: diff.gone.len(),
                unvisited: diff.unvisited.len(),
                unavailable: diff.unavailable.len(),
            },
            added: singles(diff.added, Single::added),
            removed: singles(diff.removed, Single::lost),
            changed: changes(diff.changed),
            gone: changes(diff.gone),
            unvisited: singles(diff.unvisited, Single::lost),
            unavailable: diff
                .unavailable
                .into_iter()
                .filter(named)
                .map(Unavailable::from)
                .collect(),
        }
    }

    /// Number of all items.
    fn items(&self) -> usize {
        let singles = self.added.len() + self.removed.len() + self.unvisited.len();
        singles + self.changed.len() + self.gone.len() + self.unavailable.len()
    }

    async fn compare_texts(&mut self, ctx: &Ctx) -> Result<(), ApiError> {
        let (pipeline, store) = (&ctx.app.pipeline, &ctx.app.store);
        let items = self.changed.iter_mut().chain(&mut self.gone);
        for item in items.take(MAX_TEXTS) {
            let text = match item.pages {
                Some((old, new)) => {
                    let project = ctx.principal.project;
                    pipeline.text_change(store, project, old, new).await?
                }
                None => None,
            };
            item.text = Some(text);
        }
        Ok(())
    }
}

/// Differences between two runs: pages are compared by their content hashes.
#[utoipa::path(
    get,
    path = "/v1/crawls/{old_id}/diff/{new_id}",
    tag = "Crawls",
    params(
        ("old_id" = i64, Path, description = "The older run"),
        ("new_id" = i64, Path, description = "The newer run"),
        Params,
    ),
    responses(
        (status = 200, description = "The differences", body = Diff),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn diff_crawls(
    ctx: Ctx,
    runs: TwoRuns,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let old = path::run(&ctx, runs.old).await?;
    let new = path::run(&ctx, runs.new).await?;
    memory_limit::reserve_list(&ctx, old.page_count + new.page_count).await?;
    let diff = ctx
        .app
        .store
        .diff(ctx.principal.project, runs.old, runs.new)
        .await?;
    let mut diff = Diff::new(runs, diff, query.0.url.as_deref());
    if query.0.text.unwrap_or(false) {
        diff.compare_texts(&ctx).await?;
    }
    large_json(diff.items() * memory_limit::LISTED_PAGE, diff).await
}
