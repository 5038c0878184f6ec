//! GET /v1/cloud/balance.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};

/// Balance of the account at the upstream provider.
#[derive(Serialize, ToSchema)]
pub(super) struct Balance {
    /// 0 where no provider is configured.
    balance_usd: f64,
    #[schema(example = "USD")]
    currency: &'static str,
}

/// Balance of the account at the upstream provider.
#[utoipa::path(
    get,
    path = "/v1/cloud/balance",
    tag = "Cloud",
    responses(
        (status = 200, description = "The balance", body = Balance),
        (status = 502, description = "The provider gives no answer", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn balance(ctx: Ctx) -> JsonAnswer<Balance> {
    let vendor = ctx.app.cloud.vendor();
    let balance_usd = if vendor.is_configured() {
        vendor.balance().await?
    } else {
        0.0
    };
    Ok(Json(Balance {
        balance_usd,
        currency: "USD",
    }))
}
