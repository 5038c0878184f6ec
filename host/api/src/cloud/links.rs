//! POST /v1/cloud/links.

use std::collections::HashSet;

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use orbweaver_core::json_number::whole;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Work, within};
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;
use orbweaver_pipeline::cloud::backend::{Choice, Job};
use orbweaver_pipeline::cloud::usd;

/// A page whose links are wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/"}))]
pub(super) struct LinksRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
    /// Most links returned.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 5000, default = 100)]
    limit: Option<u64>,
}

/// The page's links.
#[derive(Serialize, ToSchema)]
pub(super) struct LinksResult {
    /// Absolute URLs in the page's order, each once.
    links: Vec<String>,
    /// US dollars.
    cost_usd: f64,
    elapsed_ms: u64,
}

#[derive(Deserialize)]
struct Link {
    to: String,
}

/// The links of a page.
///
/// Billed one cloud page when a response arrived.
#[utoipa::path(
    post,
    path = "/v1/cloud/links",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = LinksRequest,
    responses(
        (status = 200, description = "The links", body = LinksResult),
        (status = 502, description = "No backend got a response", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn links(ctx: Ctx, payload: Payload<LinksRequest>) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let LinksRequest { url, limit } = payload.value;
    validate::url(&ctx.app, "url", &url)?;
    let limit = usize::try_from(within("limit", limit, 100, 5_000)?).unwrap_or(5_000);
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-links");
        run(work, url, limit).await.into_response()
    })
    .await)
}

async fn run(work: Work, url: String, limit: usize) -> Result<Json<LinksResult>, ApiError> {
    let job = Job {
        url,
        ..Job::default()
    };
    let loaded = work.load(Choice::Auto, job).await?;
    let cost_usd = usd(loaded.cost_micros);
    let mut document = work.document(loaded).await?;
    let pipeline = work.pipeline();
    let found: Vec<Link> = if pipeline.readable(&mut document).await? {
        pipeline.role(&mut document, "links", "").await?
    } else {
        Vec::new()
    };
    let mut seen = HashSet::new();
    let links = found
        .into_iter()
        .map(|link| link.to)
        .filter(|to| to.starts_with("http://") || to.starts_with("https://"))
        .filter(|to| seen.insert(to.clone()))
        .take(limit)
        .collect();
    Ok(Json(LinksResult {
        links,
        cost_usd,
        elapsed_ms: work.elapsed_ms(),
    }))
}
