//! GET /v1/webhook/secret.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors};
use orbweaver_crawl::webhooks;

/// How to check that a webhook comes from here.
#[derive(Serialize, ToSchema)]
pub(super) struct WebhookSecret {
    /// The key of the HMAC, in hexadecimal digits: decode it first.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    secret_hex: String,
    /// The HMAC's hash.
    #[schema(example = "sha256")]
    alg: &'static str,
    /// The header with the signature over the raw body.
    #[schema(example = "X-Crawler-Signature")]
    header: &'static str,
    /// How the header's value is written.
    #[schema(example = "sha256=<hex>")]
    signature_format: &'static str,
}

/// The project's secret; made when it is first asked for.
#[utoipa::path(
    get,
    path = "/v1/webhook/secret",
    tag = "Keys and secrets",
    responses((status = 200, description = "The secret", body = WebhookSecret), CommonErrors)
)]
pub(super) async fn webhook_secret(ctx: Ctx) -> JsonAnswer<WebhookSecret> {
    let secret = webhooks::secret(&ctx.app.store, ctx.principal.project, ctx.app.clock.now())
        .await
        .map_err(|error| ApiError::internal(&error))?;
    Ok(Json(WebhookSecret {
        secret_hex: hex::encode(secret),
        alg: "sha256",
        header: "X-Crawler-Signature",
        signature_format: "sha256=<hex>",
    }))
}
