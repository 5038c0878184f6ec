//! POST /v1/cloud/render.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::Work;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;
use orbweaver_pipeline::cloud::backend::{Choice, Job, WaitPoint};
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::convert::Format;

/// A page to render.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/", "wait_for": "load"}))]
pub(super) struct RenderRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
    /// How the content is returned.
    #[schema(default = "raw")]
    return_format: Option<RenderFormat>,
    /// When the page counts as loaded.
    #[schema(default = "load")]
    wait_for: Option<WaitWord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RenderFormat {
    /// The HTML as it stands after its scripts ran.
    Raw,
    /// Markdown with links.
    Markdown,
    /// Plain text.
    Text,
    /// A picture of the whole page, PNG in base64.
    Png,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = WaitFor)]
pub(super) enum WaitWord {
    /// The `load` event.
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No request for half a second.
    NetworkIdle,
}

impl From<WaitWord> for WaitPoint {
    fn from(word: WaitWord) -> Self {
        match word {
            WaitWord::Load => Self::Load,
            WaitWord::DomContentLoaded => Self::DomContentLoaded,
            WaitWord::NetworkIdle => Self::NetworkIdle,
        }
    }
}

/// The rendered page.
#[derive(Serialize, ToSchema)]
pub(super) struct RenderResult {
    pub(super) content: String,
    /// US dollars.
    pub(super) cost_usd: f64,
    pub(super) elapsed_ms: u64,
}

/// A page as a browser shows it, after its scripts ran.
///
/// Billed one cloud page when a response arrived.
#[utoipa::path(
    post,
    path = "/v1/cloud/render",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = RenderRequest,
    responses(
        (status = 200, description = "The rendered page", body = RenderResult),
        (status = 501, description = "No browser is configured", body = ErrorBody),
        (status = 502, description = "The page could not be rendered", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn render(
    ctx: Ctx,
    payload: Payload<RenderRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let request = payload.value;
    validate::url(&ctx.app, "url", &request.url)?;
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-render");
        run(work, request).await.map(Json).into_response()
    })
    .await)
}

async fn run(work: Work, request: RenderRequest) -> Result<RenderResult, ApiError> {
    let format = request.return_format.unwrap_or(RenderFormat::Raw);
    let job = Job {
        url: request.url,
        render: Some(request.wait_for.map_or(WaitPoint::Load, WaitPoint::from)),
        picture: format == RenderFormat::Png,
        ..Job::default()
    };
    let mut loaded = work.load(rendering(&work, &job), job).await?;
    let cost_usd = usd(loaded.cost_micros);
    let picture = loaded.picture.take();
    let content = match format {
        RenderFormat::Png => STANDARD.encode(
            picture
                .unwrap_or_else(|| Err("there is no picture".to_owned()))
                .map_err(|why| ApiError::fetch_failed(format!("no picture: {why}")))?,
        ),
        other => {
            let format = match other {
                RenderFormat::Markdown => Format::Markdown,
                RenderFormat::Text => Format::Text,
                _ => Format::Raw,
            };
            let mut document = work.document(loaded).await?;
            let pipeline = &work.pipeline();
            pipeline.convert(&mut document, format, false).await?
        }
    };
    Ok(RenderResult {
        content,
        cost_usd,
        elapsed_ms: work.elapsed_ms(),
    })
}

/// This host's browser; the provider's where there is none here.
fn rendering(work: &Work, job: &Job) -> Choice {
    if work.app.cloud.has_browser() || job.picture || !work.app.cloud.vendor().is_configured() {
        Choice::Local
    } else {
        Choice::Vendor
    }
}
