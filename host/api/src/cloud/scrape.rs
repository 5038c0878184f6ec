//! POST /v1/cloud/scrape.

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
use orbweaver_pipeline::cloud::backend::{Choice, Job, WaitPoint};
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::convert::Format;

/// A page to scrape.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/"}))]
pub(super) struct ScrapeRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(format = "uri", example = "https://example.com/")]
    url: String,
    /// How the content is returned.
    #[schema(default = "markdown")]
    return_format: Option<Format>,
    /// Renders the page in a browser.
    #[schema(default = false)]
    chrome: Option<bool>,
    /// Where the page comes from; `auto`: the cheapest backend that succeeds.
    #[schema(default = "auto")]
    force_backend: Option<BackendWord>,
    /// With `force_backend: proxy`.
    #[schema(default = "isp")]
    proxy_pool: Option<ProxyPool>,
    /// With `force_backend: proxy`: ISO-2 code.
    #[schema(pattern = "^[A-Za-z]{2}$", example = "DE")]
    proxy_country: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CloudBackend)]
enum BackendWord {
    /// The cheapest that succeeds.
    Auto,
    /// This host: plain HTTP, or its browser with `chrome`.
    Local,
    /// The upstream provider.
    Vendor,
    /// A proxy pool.
    Proxy,
}

/// The page's content.
#[derive(Serialize, ToSchema)]
pub(super) struct ScrapeResult {
    content: String,
    /// US dollars.
    cost_usd: f64,
    elapsed_ms: u64,
    /// HTTP status of the target.
    status: u16,
    /// `local`, `proxy` or `vendor`.
    backend: &'static str,
    /// Without `force_backend`: what each backend that was tried gave, the last one this
    /// answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, extensions(("x-extension" = json!(true))))]
    backend_reason: Option<String>,
    /// From a proxy pool: which.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pool: Option<&'static str>,
    /// From a proxy pool: bytes that came through it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    bytes_transferred: Option<u64>,
}

struct Checked {
    choice: Choice,
    format: Format,
    job: Job,
}

impl ScrapeRequest {
    fn check(self, ctx: &Ctx) -> Result<Checked, ApiError> {
        validate::url(&ctx.app, "url", &self.url)?;
        let choice = match self.force_backend.unwrap_or(BackendWord::Auto) {
            BackendWord::Auto => Choice::Auto,
            BackendWord::Local => Choice::Local,
            BackendWord::Vendor => Choice::Vendor,
            BackendWord::Proxy => Choice::Proxy,
        };
        for (field, given) in [
            ("proxy_pool", self.proxy_pool.is_some()),
            ("proxy_country", self.proxy_country.is_some()),
        ] {
            if given && choice != Choice::Proxy {
                return Err(ApiError::invalid(
                    field,
                    "goes with force_backend: proxy only",
                ));
            }
        }
        Ok(Checked {
            choice,
            format: self.return_format.unwrap_or(Format::Markdown),
            job: Job {
                url: self.url,
                render: self.chrome.unwrap_or(false).then_some(WaitPoint::Load),
                country: country("proxy_country", self.proxy_country)?,
                pool: (choice == Choice::Proxy).then(|| self.proxy_pool.unwrap_or(ProxyPool::Isp)),
                ..Job::default()
            },
        })
    }
}

/// A page's content, after challenges and scripts.
///
/// Billed one cloud page when a response arrived, whatever its HTTP status.
#[utoipa::path(
    post,
    path = "/v1/cloud/scrape",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = ScrapeRequest,
    responses(
        (status = 200, description = "The page's content", body = ScrapeResult),
        (status = 501, description = "The backend is not configured; says what to set", body = ErrorBody),
        (status = 502, description = "No backend got a response", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn scrape(
    ctx: Ctx,
    payload: Payload<ScrapeRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let checked = payload.value.check(&ctx)?;
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-scrape");
        run(work, checked).await.into_response()
    })
    .await)
}

async fn run(work: Work, checked: Checked) -> Result<Response, ApiError> {
    let loaded = work.load(checked.choice, checked.job).await?;
    let (pool, wire_bytes) = (loaded.pool, loaded.response.wire_bytes);
    let (backend, cost_micros) = (loaded.backend, loaded.cost_micros);
    let (status, backend_reason) = (loaded.response.status, loaded.reason.clone());
    let mut document = work.document(loaded).await?;
    let pipeline = &work.pipeline();
    let content = pipeline
        .convert(&mut document, checked.format, false)
        .await?;
    let bytes = content.len();
    let answer = ScrapeResult {
        content,
        cost_usd: usd(cost_micros),
        elapsed_ms: work.elapsed_ms(),
        status,
        backend,
        backend_reason,
        pool: pool.map(|pool| pool.as_str()),
        bytes_transferred: pool.map(|_| wire_bytes),
    };
    large_json(bytes, answer).await
}
