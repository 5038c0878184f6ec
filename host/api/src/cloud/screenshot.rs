//! POST /v1/cloud/screenshot: deprecated, see render.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_TYPE, LINK};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::{Work, picture};
use super::render::RenderResult;
use crate::accept;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;
use orbweaver_pipeline::cloud::backend::{Choice, Job, WaitPoint};
use orbweaver_pipeline::cloud::usd;

const PATH: &str = "/v1/cloud/screenshot";
/// RFC 9745's header, with the value that the contract gives it.
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

/// A page to take a picture of.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/"}))]
pub(super) struct ScreenshotRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
}

/// A screenshot of the whole page; use render with `return_format: png`.
///
/// PNG bytes, or render's body where `Accept` prefers `application/json` to `image/png`. Billed one
/// cloud page when a response arrived. Every answer carries `Deprecation: true` and a `Link` to its
/// successor.
#[utoipa::path(
    post,
    path = "/v1/cloud/screenshot",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = ScreenshotRequest,
    responses(
        (status = 200, description = "The picture", content(
            (Vec<u8> = "image/png"),
            (RenderResult = "application/json"),
        ), headers(
            ("Deprecation" = String, description = "`true`: the endpoint has a successor"),
            ("Link" = String, description = "The successor, with `rel=\"successor-version\"`"),
        )),
        (status = 501, description = "No browser is configured", body = ErrorBody),
        (status = 502, description = "The page could not be rendered", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
#[deprecated = "the contract keeps it; render is its successor"]
pub(super) async fn screenshot(
    ctx: Ctx,
    headers: HeaderMap,
    payload: Payload<ScreenshotRequest>,
) -> Result<Response, ApiError> {
    let wanted = |kind, subtype| accept::wanted(&headers, kind, subtype);
    let json = wanted("application", "json") > wanted("image", "png");
    let mut digest = payload.digest();
    // The same body with another Accept is another answer.
    if let Some(first) = digest.first_mut() {
        *first ^= u8::from(json);
    }
    let request = payload.value;
    validate::url(&ctx.app, "url", &request.url)?;
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-screenshot");
        run(work, request, json).await.into_response()
    })
    .await)
}

async fn run(work: Work, request: ScreenshotRequest, json: bool) -> Result<Response, ApiError> {
    let job = Job {
        url: request.url,
        render: Some(WaitPoint::Load),
        picture: true,
        ..Job::default()
    };
    let loaded = work.load(Choice::Local, job).await?;
    let picture = picture(&loaded)?;
    if json {
        let body = RenderResult {
            content: STANDARD.encode(picture),
            cost_usd: usd(loaded.cost_micros),
            elapsed_ms: work.elapsed_ms(),
            screenshots: Vec::new(),
        };
        return Ok(Json(body).into_response());
    }
    Ok(([(CONTENT_TYPE, "image/png")], picture.clone()).into_response())
}

/// Says on every answer of this endpoint, errors included, that it has a successor.
pub(crate) fn deprecate(path: &str, headers: &mut HeaderMap) {
    if path == PATH {
        headers.insert(DEPRECATION, HeaderValue::from_static("true"));
        headers.insert(
            LINK,
            HeaderValue::from_static("</v1/cloud/render>; rel=\"successor-version\""),
        );
    }
}
