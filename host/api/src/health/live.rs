//! GET /v1/health.

/// Liveness: this process answers.
#[utoipa::path(
    get,
    path = "/v1/health",
    tag = "Health",
    security(()),
    responses((status = 200, description = "The process is alive", body = String,
               content_type = "text/plain", example = "ok"))
)]
pub(super) async fn health() -> &'static str {
    "ok"
}
