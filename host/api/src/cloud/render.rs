//! POST /v1/cloud/render.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use orbweaver_fetch::{Action, PictureOptions};
use orbweaver_pipeline::browsing::{Browsing, BrowsingRequest, WaitRequest, WaitSpec};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Work, picture};
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
    /// When the page counts as loaded: `load` (default), `domcontentloaded`, `networkidle`, or an
    /// object of `event`, `selector` and `milliseconds`.
    wait_for: Option<WaitRequest>,
    /// Sent with requests to the URL's own host.
    #[schema(
        value_type = Option<std::collections::HashMap<String, String>>,
        extensions(("x-extension" = json!(true)))
    )]
    headers: Option<IndexMap<String, String>>,
    /// Cookies, `k=v; k=v`, of the URL's own host.
    #[schema(max_length = 16_384, extensions(("x-extension" = json!(true))))]
    cookies: Option<String>,
    /// What is done in the loaded page, in this order, within a minute. Screenshots are in
    /// `screenshots`.
    #[schema(max_items = 50, extensions(("x-extension" = json!(true))))]
    actions: Option<Vec<Action>>,
    /// The name of a session: rendered pages with the same name share cookies. It is forgotten an
    /// hour after its last use.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", extensions(("x-extension" = json!(true))))]
    session: Option<String>,
    /// Options of screenshots: of `return_format` `png`, and of those among the actions.
    #[schema(extensions(("x-extension" = json!(true))))]
    screenshot: Option<PictureOptions>,
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
    /// A screenshot in base64, of the whole page as PNG unless `screenshot` says otherwise.
    Png,
}

/// The rendered page.
#[derive(Serialize, ToSchema)]
pub(super) struct RenderResult {
    pub(super) content: String,
    /// US dollars.
    pub(super) cost_usd: f64,
    pub(super) elapsed_ms: u64,
    /// The screenshots of `actions` in base64, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub(super) screenshots: Vec<String>,
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
    let format = request.return_format.unwrap_or(RenderFormat::Raw);
    let browsing = BrowsingRequest {
        wait_for: request.wait_for,
        headers: request.headers,
        cookies: request.cookies,
        actions: request.actions,
        session: request.session,
        screenshot: request.screenshot,
    };
    let (url, browsing) = (request.url, browsing.check()?);
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-render");
        run(work, url, format, browsing)
            .await
            .map(Json)
            .into_response()
    })
    .await)
}

async fn run(
    work: Work,
    url: String,
    format: RenderFormat,
    browsing: Browsing,
) -> Result<RenderResult, ApiError> {
    let choice = rendering(&work, format, &browsing);
    let job = Job {
        render: Some(browsing.point(WaitPoint::Load)),
        picture: format == RenderFormat::Png,
        extras: browsing.extras(&url),
        session: browsing.session,
        url,
        ..Job::default()
    };
    let mut loaded = work.load(choice, job).await?;
    let screenshots = std::mem::take(&mut loaded.screenshots);
    let cost_usd = usd(loaded.cost_micros);
    let content = match format {
        RenderFormat::Png => STANDARD.encode(picture(&loaded)?),
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
        screenshots: screenshots.iter().map(|one| STANDARD.encode(one)).collect(),
    })
}

/// This host's browser; the provider's where there is none here and nothing but an event is
/// waited for.
fn rendering(work: &Work, format: RenderFormat, browsing: &Browsing) -> Choice {
    let event_alone = Browsing {
        wait: browsing.wait.as_ref().map(|wait| WaitSpec {
            event: wait.event,
            ..WaitSpec::default()
        }),
        ..Browsing::default()
    };
    let needs_ours = format == RenderFormat::Png || *browsing != event_alone;
    if work.app.cloud.has_browser() || needs_ours || !work.app.cloud.vendor().is_configured() {
        Choice::Local
    } else {
        Choice::Vendor
    }
}
