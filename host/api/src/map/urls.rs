//! POST /v1/map.

use std::time::Instant;

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use orbweaver_core::json_number::whole;
use orbweaver_crawl::map::{self, MAX_URLS, MapSpec, MappedUrl};
use orbweaver_pipeline::ScanError;
use orbweaver_pipeline::cloud::backend::project_proxy;
use orbweaver_store::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;

const DEFAULT_LIMIT: u64 = 5_000;
const MAX_SEARCH: usize = 200;
const MAX_WORDS: usize = 10;

/// A site to map.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/", "search": "price list"}))]
pub(super) struct MapRequest {
    /// The start page: absolute, http or https, on the public internet.
    #[schema(format = "uri", pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    url: String,
    /// Words: only URLs that contain one of them, those with most of them first; at most 10
    /// words.
    #[schema(max_length = 200)]
    search: Option<String>,
    /// Maximum number of URLs in the answer.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 100_000, default = 5_000)]
    limit: Option<u64>,
    /// Add URLs of subdomains of the start page's host.
    #[schema(default = false)]
    subdomains: Option<bool>,
    /// Read the site's sitemaps.
    #[schema(default = true)]
    sitemaps: Option<bool>,
    /// Add what the project's last 20 finished crawls of the site found.
    #[schema(default = true)]
    runs: Option<bool>,
}

/// A site's URLs.
#[derive(Serialize, ToSchema)]
pub(super) struct MapResult {
    /// The start page, as requested.
    url: String,
    /// Each URL once, in the order in which they were found (start page, sitemaps, earlier
    /// crawls); with `search`, the best match first.
    urls: Vec<MappedUrl>,
    /// Number of URLs before `limit`.
    total: usize,
    /// Number of sitemaps that were read.
    sitemaps: usize,
    /// Whether everything could be read: the start page, and all sitemaps within the limits of 30
    /// seconds, 500 sitemaps and 100,000 URLs.
    complete: bool,
    /// Why not; null if it is.
    incomplete_reason: Option<String>,
    /// Duration of the call.
    elapsed_ms: u64,
}

impl MapRequest {
    fn check(self, ctx: &Ctx) -> Result<MapSpec, ApiError> {
        validate::url(&ctx.app, "url", &self.url)?;
        let search = self.search.unwrap_or_default();
        if search.chars().count() > MAX_SEARCH {
            return Err(ApiError::invalid(
                "search",
                "must be at most 200 characters",
            ));
        }
        let search: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
        if search.len() > MAX_WORDS {
            return Err(ApiError::invalid("search", "must be at most 10 words"));
        }
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if !(1..=MAX_URLS).contains(&limit) {
            return Err(ApiError::invalid("limit", "must be between 1 and 100000"));
        }
        Ok(MapSpec {
            url: self.url,
            search,
            limit,
            subdomains: self.subdomains.unwrap_or(false),
            sitemaps: self.sitemaps.unwrap_or(true),
            runs: self.runs.unwrap_or(true),
        })
    }
}

/// Lists the URLs of a site without crawling it: links of its start page, its sitemaps, and
/// what earlier crawls of the project found.
///
/// Billed one page if the start page answers; robots.txt and sitemaps are free. The start page is
/// not fetched if robots.txt disallows it or is unavailable: the answer is incomplete then.
#[utoipa::path(
    post,
    path = "/v1/map",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(IdempotencyHeader),
    request_body = MapRequest,
    responses(
        (status = 200, description = "The URLs", body = MapResult),
        (status = 502, description = "The site could not be fetched", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn map_site(ctx: Ctx, payload: Payload<MapRequest>) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let spec = payload.value.check(&ctx)?;
    let caller = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        run(caller, spec, token.whole())
            .await
            .map(Json)
            .into_response()
    })
    .await)
}

async fn run(ctx: Ctx, spec: MapSpec, token: String) -> Result<MapResult, ApiError> {
    let started = Instant::now();
    let (app, project) = (&ctx.app, ctx.principal.project);
    let page = Amount::pages(1);
    let quota = &app.accounts.quota;
    let mut reserved = quota.reserve_for(project, page, &token).await?;
    let slot = app.scans.slots.acquire(project).await;
    let _slot = slot.map_err(ScanError::from)?;
    let proxy = project_proxy(&ctx.principal)?;
    let mapped = map::map(&app.crawls, project, &spec, proxy).await?;
    if mapped.answered {
        let usage = reserved.usage(token, "map", page, 0);
        app.store.bill(usage).await?;
    }
    Ok(MapResult {
        url: spec.url,
        urls: mapped.urls,
        total: mapped.total,
        sitemaps: mapped.sitemaps,
        complete: mapped.missing.is_none(),
        incomplete_reason: mapped.missing,
        elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}
