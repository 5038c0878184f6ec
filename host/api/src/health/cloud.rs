//! GET /v1/health/cloud.

use axum::Json;
use chrono::TimeDelta;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;
use orbweaver_accounts::usage::dollars;

/// The cloud backends, and what the project spent there.
#[derive(Serialize, ToSchema)]
pub(super) struct CloudHealth {
    /// Whether an upstream provider is configured.
    configured: bool,
    /// Balance of the provider's account, in US dollars; 0 without a provider, or if the provider
    /// does not tell it.
    balance_usd: f64,
    last_24h: LastDay,
}

/// The project's last 24 hours.
#[derive(Serialize, ToSchema)]
struct LastDay {
    #[schema(minimum = 0)]
    cloud_pages: u64,
    cloud_cost_usd: f64,
}

/// Whether cloud endpoints have an upstream, and the project's use of them.
#[utoipa::path(
    get,
    path = "/v1/health/cloud",
    tag = "Health",
    responses((status = 200, description = "Backends and spending", body = CloudHealth), CommonErrors)
)]
pub(super) async fn cloud_health(ctx: Ctx) -> JsonAnswer<CloudHealth> {
    let since = ctx.app.clock.now() - TimeDelta::hours(24);
    let project = ctx.principal.project;
    let (cloud_pages, cost) = ctx.app.store.cloud_usage_since(project, since).await?;
    let vendor = ctx.app.cloud.vendor();
    let configured = vendor.is_configured();
    let balance_usd = if configured {
        match vendor.balance().await {
            Ok(balance) => balance,
            // The project's own figures hold all the same.
            Err(error) => {
                tracing::warn!(?error, "cannot read the provider's remaining credit");
                0.0
            }
        }
    } else {
        0.0
    };
    Ok(Json(CloudHealth {
        configured,
        balance_usd,
        last_24h: LastDay {
            cloud_pages,
            cloud_cost_usd: dollars(cost),
        },
    }))
}
