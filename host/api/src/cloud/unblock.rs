//! POST /v1/cloud/unblock.

use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{TextFormat, Work, country};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;
use orbweaver_pipeline::cloud::backend::{Choice, Job};
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::convert::Format;

/// A page that keeps programs out.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/"}))]
pub(super) struct UnblockRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
    /// How the content is returned.
    #[schema(default = "markdown")]
    return_format: Option<TextFormat>,
    /// ISO-2 code of the country to appear from.
    #[schema(pattern = "^[A-Za-z]{2}$", example = "DE")]
    country: Option<String>,
}

/// The page's content.
#[derive(Serialize, ToSchema)]
pub(super) struct UnblockResult {
    content: String,
    /// US dollars.
    cost_usd: f64,
    elapsed_ms: u64,
}

/// A page behind bot protection: the provider's unblocker, else proxy pools with
/// the browser.
///
/// Billed one cloud page when a response arrived.
#[utoipa::path(
    post,
    path = "/v1/cloud/unblock",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = UnblockRequest,
    responses(
        (status = 200, description = "The page's content", body = UnblockResult),
        (status = 501, description = "No unblocker is configured; the message names the settings", body = ErrorBody),
        (status = 502, description = "No backend got a response", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn unblock(
    ctx: Ctx,
    payload: Payload<UnblockRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let UnblockRequest {
        url,
        return_format,
        country: code,
    } = payload.value;
    validate::url(&ctx.app, "url", &url)?;
    let job = Job {
        url,
        country: country("country", code)?,
        ..Job::default()
    };
    let format = return_format.unwrap_or_default().into();
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-unblock");
        run(work, job, format).await.into_response()
    })
    .await)
}

async fn run(work: Work, job: Job, format: Format) -> Result<Response, ApiError> {
    let loaded = work.load(Choice::Unblock, job).await?;
    let cost_usd = usd(loaded.cost_micros);
    let mut document = work.document(loaded).await?;
    let pipeline = &work.pipeline();
    let content = pipeline.convert(&mut document, format, false).await?;
    let bytes = content.len();
    let answer = UnblockResult {
        content,
        cost_usd,
        elapsed_ms: work.elapsed_ms(),
    };
    large_json(bytes, answer).await
}
