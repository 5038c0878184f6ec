//! GET /v1/crawls/{old_id}/diff/{new_id}.

use axum::Json;
use orbweaver_core::ids::RunId;
use orbweaver_store::crawl::RunDiff;
use serde::Serialize;
use utoipa::ToSchema;

use super::path::{self, TwoRuns};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};

/// What two runs differ in, by their pages' content hashes.
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
    /// Pages of the old run only.
    removed: Vec<Single>,
    changed: Vec<Changed>,
}

/// How many pages.
#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffSummary)]
struct Summary {
    added: usize,
    removed: usize,
    changed: usize,
    unchanged: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffPage)]
struct Single {
    url: String,
    /// Content hash.
    hash: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CrawlDiffChange)]
struct Changed {
    url: String,
    old_hash: Option<String>,
    new_hash: Option<String>,
}

impl Diff {
    fn of(runs: TwoRuns, diff: RunDiff) -> Self {
        Self {
            old_run_id: runs.old,
            new_run_id: runs.new,
            summary: Summary {
                added: diff.added.len(),
                removed: diff.removed.len(),
                changed: diff.changed.len(),
                unchanged: diff.unchanged,
            },
            added: diff
                .added
                .into_iter()
                .map(|page| Single {
                    url: page.url,
                    hash: page.new_hash,
                })
                .collect(),
            removed: diff
                .removed
                .into_iter()
                .map(|page| Single {
                    url: page.url,
                    hash: page.old_hash,
                })
                .collect(),
            changed: diff
                .changed
                .into_iter()
                .map(|page| Changed {
                    url: page.url,
                    old_hash: page.old_hash,
                    new_hash: page.new_hash,
                })
                .collect(),
        }
    }
}

/// What two runs differ in: pages are compared by their content hashes.
#[utoipa::path(
    get,
    path = "/v1/crawls/{old_id}/diff/{new_id}",
    tag = "Crawls",
    params(
        ("old_id" = i64, Path, description = "The older run"),
        ("new_id" = i64, Path, description = "The newer run"),
    ),
    responses(
        (status = 200, description = "The differences", body = Diff),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn diff_crawls(ctx: Ctx, runs: TwoRuns) -> JsonAnswer<Diff> {
    path::run(&ctx, runs.old).await?;
    path::run(&ctx, runs.new).await?;
    let diff = ctx
        .app
        .store
        .diff(ctx.principal.project, runs.old, runs.new)
        .await?;
    Ok(Json(Diff::of(runs, diff)))
}
