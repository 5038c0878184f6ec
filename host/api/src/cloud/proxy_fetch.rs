//! POST /v1/cloud/proxy-fetch.

use axum::response::{IntoResponse as _, Response};
use orbweaver_fetch::ProxyPool;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Work, country};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;
use orbweaver_pipeline::cloud::backend::{Choice, Job};
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::convert::Format;

/// A page to fetch through a proxy.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/", "pool": "isp"}))]
pub(super) struct ProxyFetchRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
    /// The proxy pool.
    #[schema(default = "isp")]
    pool: Option<ProxyPool>,
    /// ISO-2 code of the country to appear from.
    #[schema(pattern = "^[A-Za-z]{2}$", example = "DE")]
    country: Option<String>,
}

/// The body as received.
#[derive(Serialize, ToSchema)]
pub(super) struct ProxyFetchResult {
    /// The URL that answered, after redirects, as the WHATWG standard writes it.
    url: String,
    /// HTTP status of the target.
    status: u16,
    /// The body as text.
    content: String,
    /// Bytes of the body on the wire.
    bytes_transferred: u64,
    elapsed_ms: u64,
    /// US dollars, by bytes.
    cost_usd: f64,
    /// The pool that it came through.
    pool: &'static str,
    country: Option<String>,
}

/// A page by plain HTTP through a proxy pool; no scripts run.
///
/// Billed one cloud page when a response arrived; its cost goes by bytes.
#[utoipa::path(
    post,
    path = "/v1/cloud/proxy-fetch",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = ProxyFetchRequest,
    responses(
        (status = 200, description = "The page", body = ProxyFetchResult),
        (status = 501, description = "The pool is not configured; says what to set", body = ErrorBody),
        (status = 502, description = "No proxy of the pool got a response", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn proxy_fetch(
    ctx: Ctx,
    payload: Payload<ProxyFetchRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let ProxyFetchRequest {
        url,
        pool,
        country: code,
    } = payload.value;
    validate::url(&ctx.app, "url", &url)?;
    let country = country("country", code)?;
    let job = Job {
        url,
        pool: Some(pool.unwrap_or(ProxyPool::Isp)),
        country: country.clone(),
        ..Job::default()
    };
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-proxy-fetch");
        run(work, job, country).await.into_response()
    })
    .await)
}

async fn run(work: Work, job: Job, country: Option<String>) -> Result<Response, ApiError> {
    let pool = job.pool.unwrap_or(ProxyPool::Isp);
    let loaded = work.load(Choice::Proxy, job).await?;
    let (bytes_transferred, cost_micros) = (loaded.response.wire_bytes, loaded.cost_micros);
    let mut document = work.document(loaded).await?;
    let pipeline = &work.pipeline();
    let content = pipeline.convert(&mut document, Format::Raw, false).await?;
    let bytes = content.len();
    let answer = ProxyFetchResult {
        url: document.final_url,
        status: document.status,
        content,
        bytes_transferred,
        elapsed_ms: work.elapsed_ms(),
        cost_usd: usd(cost_micros),
        pool: pool.as_str(),
        country,
    };
    large_json(bytes, answer).await
}
