//! POST /v1/cloud/crawl.

use axum::response::{IntoResponse as _, Response};
use orbweaver_core::json_number::whole;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Work, within};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;
use orbweaver_pipeline::cloud::backend::WaitPoint;
use orbweaver_pipeline::cloud::small_crawl::{Crawl, Crawled, SmallCrawl};
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::convert::Format;

/// A site to crawl while the caller waits.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/", "limit": 5}))]
pub(super) struct CloudCrawlRequest {
    /// Where to begin: absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
    /// Most pages returned.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 500, default = 20)]
    limit: Option<u64>,
    /// How the content is returned.
    #[schema(default = "markdown")]
    return_format: Option<Format>,
    /// Renders every page in a browser.
    #[schema(default = false)]
    chrome: Option<bool>,
}

/// The pages.
#[derive(Serialize, ToSchema)]
pub(super) struct CloudCrawlResult {
    items: Vec<CloudCrawlItem>,
    /// US dollars, all pages together.
    cost_usd: f64,
    elapsed_ms: u64,
    /// Why pages were left out before `limit` was reached: a cap, the time, or the size of the answer.
    #[schema(required = true, extensions(("x-extension" = json!(true))))]
    error_message: Option<String>,
}

/// A page.
#[derive(Serialize, ToSchema)]
pub(super) struct CloudCrawlItem {
    #[schema(format = "uri")]
    url: String,
    content: String,
    /// HTTP status of the target.
    status: u16,
}

/// Follows a site's links and returns its pages in one answer, the first page first.
///
/// Billed one cloud page per page. Stays on the site and obeys its robots.txt; what is not
/// there after four minutes is left out, as is what the project's caps do not leave pages for, and what
/// an answer of 64 MiB (setting `http.max_answer_bytes`) has no room for: `error_message` says so.
#[utoipa::path(
    post,
    path = "/v1/cloud/crawl",
    operation_id = "cloud_crawl",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = CloudCrawlRequest,
    responses(
        (status = 200, description = "The pages", body = CloudCrawlResult),
        (status = 501, description = "No browser is configured", body = ErrorBody),
        (status = 502, description = "No backend got the first page", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn crawl(
    ctx: Ctx,
    payload: Payload<CloudCrawlRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let CloudCrawlRequest {
        url,
        limit,
        return_format,
        chrome,
    } = payload.value;
    validate::url(&ctx.app, "url", &url)?;
    let limit = within("limit", limit, 20, 500)?;
    let crawl = Crawl {
        url,
        limit,
        format: return_format.unwrap_or(Format::Markdown),
        render: chrome.unwrap_or(false).then_some(WaitPoint::Load),
    };
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-crawl");
        run(work, crawl).await.into_response()
    })
    .await)
}

async fn run(work: Work, crawl: Crawl) -> Result<Response, ApiError> {
    let token = work.token.clone();
    let SmallCrawl { pages, cut } = crawl
        .run(&work.app.scans, &work.principal, &work.room(), |index| {
            token.part(index)
        })
        .await?;
    for page in &pages {
        if let Some(lack) = &page.lack {
            work.scope.warn(format!("{}: {lack}", page.url));
        }
    }
    let cost_micros: u64 = pages.iter().map(|page| page.cost_micros).sum();
    let bytes = pages.iter().map(|page| page.content.len()).sum();
    let answer = CloudCrawlResult {
        items: pages.into_iter().map(CloudCrawlItem::from).collect(),
        cost_usd: usd(cost_micros),
        elapsed_ms: work.elapsed_ms(),
        error_message: cut,
    };
    large_json(bytes, answer).await
}

impl From<Crawled> for CloudCrawlItem {
    fn from(page: Crawled) -> Self {
        Self {
            url: page.url,
            content: page.content,
            status: page.status,
        }
    }
}
