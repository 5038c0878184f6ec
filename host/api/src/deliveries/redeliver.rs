//! POST /v1/crawls/{id}/deliveries/{delivery}/redeliver.

use http::StatusCode;

use super::path::{DeliveryPath, no_delivery};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// Delivers once more, now, with the whole schedule of retries.
///
/// The `webhook-id` is the one of before, so that a receiver can tell. The run's
/// `webhook_status` is `pending` until it is settled again.
#[utoipa::path(
    post,
    path = "/v1/crawls/{id}/deliveries/{delivery}/redeliver",
    tag = "Webhooks",
    params(
        ("id" = i64, Path, description = "The run"),
        ("delivery" = i64, Path, description = "The delivery"),
    ),
    responses(
        (status = 202, description = "The delivery is queued"),
        (status = 404, description = "No such delivery in this project", body = ErrorBody),
        CommonErrors,
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn redeliver(ctx: Ctx, path: DeliveryPath) -> Result<StatusCode, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let now = app.clock.now();
    if !app
        .store
        .redeliver(project, path.run, path.delivery, now)
        .await?
    {
        return Err(no_delivery());
    }
    app.crawls.webhooks.wake();
    Ok(StatusCode::ACCEPTED)
}
