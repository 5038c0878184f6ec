//! POST /v1/cloud/transform.

use axum::response::{IntoResponse as _, Response};
use orbweaver_store::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{TextFormat, Work};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use orbweaver_pipeline::convert::Format;
use orbweaver_pipeline::{Document, blocking_of};

/// Where the HTML is from if the request does not say: nothing is resolved against it, so relative
/// links stay as written.
const NOWHERE: &str = "about:blank";

/// HTML to transform.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"data": "<h1>Title</h1><p>Text</p>"}))]
pub(super) struct TransformRequest {
    /// HTML.
    data: String,
    /// What `data` is: always HTML. PDF is not accepted.
    #[schema(default = "html")]
    #[expect(dead_code, reason = "reading it checks it")]
    input_kind: Option<InputKind>,
    /// How the content is returned.
    #[schema(default = "markdown")]
    return_format: Option<TextFormat>,
    /// Where the HTML is from, `http` or `https`: relative links are resolved against it. Without
    /// it they stay as written.
    #[schema(format = "uri", extensions(("x-extension" = json!(true))))]
    url: Option<String>,
    /// The main content alone, where the page has one.
    #[schema(default = true)]
    readability: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum InputKind {
    /// HTML.
    Html,
}

/// The transformed content.
#[derive(Serialize, ToSchema)]
pub(super) struct TransformResult {
    content: String,
    /// 200.
    status: u16,
    return_format: &'static str,
    /// The plugin that did it; `none` for `raw`.
    engine: String,
    elapsed_ms: u64,
    /// US dollars: 0.
    cost_usd: f64,
}

/// Converts HTML to Markdown or text.
///
/// Billed one cloud page.
#[utoipa::path(
    post,
    path = "/v1/cloud/transform",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = TransformRequest,
    responses(
        (status = 200, description = "The content", body = TransformResult),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn transform(
    ctx: Ctx,
    payload: Payload<TransformRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let request = payload.value;
    if is_pdf(&request.data) {
        return Err(ApiError::invalid("data", "PDF is not accepted; send HTML"));
    }
    if let Some(url) = &request.url
        && !url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
    {
        return Err(ApiError::invalid(
            "url",
            "must be an absolute http or https URL",
        ));
    }
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-transform");
        run(work, request).await.into_response()
    })
    .await)
}

/// PDF as it is, or in base64.
fn is_pdf(data: &str) -> bool {
    let data = data.trim_start();
    data.starts_with("%PDF-") || data.starts_with("JVBERi0")
}

async fn run(work: Work, request: TransformRequest) -> Result<Response, ApiError> {
    let mut reserved = work.reserve().await?;
    let format = Format::from(request.return_format.unwrap_or_default());
    let main = request.readability.unwrap_or(true);
    let now = work.app.clock.now();
    let data = request.data;
    let bytes = data.len();
    let url = request.url.unwrap_or_else(|| NOWHERE.to_owned());
    let read = move || Document::from_text(&url, data, now);
    let mut document = blocking_of(bytes, read).await?;
    let pipeline = &work.pipeline();
    let content = pipeline.convert(&mut document, format, main).await?;
    work.hold(content.len())?;
    let usage = reserved.usage(work.token.whole(), work.call, Amount::cloud(1), 0);
    work.app.store.bill(usage).await?;
    let role = match format {
        Format::Raw => None,
        _ => Some("markdown"),
    };
    let engine = role
        .and_then(|role| pipeline.engine.role(role))
        .map_or_else(|| "none".to_owned(), |plugin| plugin.name);
    let bytes = content.len();
    let answer = TransformResult {
        content,
        status: 200,
        return_format: format.as_str(),
        engine,
        elapsed_ms: work.elapsed_ms(),
        cost_usd: 0.0,
    };
    large_json(bytes, answer).await
}
