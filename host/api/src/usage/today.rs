//! GET /v1/usage.

use axum::Json;
use chrono::NaiveDate;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;
use orbweaver_accounts::quota::seconds_to_midnight;
use orbweaver_accounts::usage::{dollars, percent};

/// Caps and what is used of them. Percentages are 0 to 100, null without a cap.
#[derive(Serialize, ToSchema)]
pub(super) struct Usage {
    tier: String,
    caps: Caps,
    today: Today,
    month: Month,
    /// Seconds until the day's counters begin anew, at midnight UTC.
    #[schema(minimum = 1)]
    retry_after_seconds: u64,
    daily_pages: Share,
    monthly_pages: Share,
    concurrent_runs: Count,
}

/// Null where there is no cap. The page caps count pages and cloud pages together.
#[derive(Serialize, ToSchema)]
struct Caps {
    pages_per_day: Option<u64>,
    pages_per_month: Option<u64>,
    cloud_pages_per_day: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UsageToday)]
struct Today {
    /// The UTC day.
    date: NaiveDate,
    pages: u64,
    cloud_pages: u64,
    cloud_cost_usd: f64,
    /// Of the daily cap, by pages and cloud pages together.
    pages_pct: Option<f64>,
    cloud_pages_pct: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UsageMonth)]
struct Month {
    pages: u64,
    cloud_pages: u64,
    cloud_cost_usd: f64,
    /// Of the monthly cap, by pages and cloud pages together.
    pages_pct: Option<f64>,
}

/// Pages and cloud pages together.
#[derive(Serialize, ToSchema)]
#[schema(as = UsageShare)]
struct Share {
    used: u64,
    cap: Option<u64>,
    percent: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UsageCount)]
struct Count {
    used: u32,
    cap: Option<u64>,
}

/// The project's tier, its caps and what is used of them.
#[utoipa::path(
    get,
    path = "/v1/usage",
    tag = "Usage and logs",
    responses((status = 200, description = "Caps and counters", body = Usage), CommonErrors)
)]
pub(super) async fn usage(ctx: Ctx) -> JsonAnswer<Usage> {
    let now = ctx.app.clock.now();
    let tier = ctx.app.accounts.quota.tier(&ctx.principal.tier);
    let used = ctx
        .app
        .accounts
        .usage
        .current(ctx.principal.project, now)
        .await?;
    let share = |used: u64, cap: Option<u64>| Share {
        used,
        cap,
        percent: percent(used, cap),
    };
    let (today, month) = (used.today, used.month);
    let daily = share(today.amount.total(), tier.pages_per_day.0);
    let monthly = share(month.amount.total(), tier.pages_per_month.0);
    Ok(Json(Usage {
        tier: ctx.principal.tier.clone(),
        caps: Caps {
            pages_per_day: tier.pages_per_day.0,
            pages_per_month: tier.pages_per_month.0,
            cloud_pages_per_day: tier.cloud_pages_per_day.0,
        },
        today: Today {
            date: used.date,
            pages: today.amount.pages,
            cloud_pages: today.amount.cloud_pages,
            cloud_cost_usd: dollars(today.cost_micros),
            pages_pct: daily.percent,
            cloud_pages_pct: percent(today.amount.cloud_pages, tier.cloud_pages_per_day.0),
        },
        month: Month {
            pages: month.amount.pages,
            cloud_pages: month.amount.cloud_pages,
            cloud_cost_usd: dollars(month.cost_micros),
            pages_pct: monthly.percent,
        },
        retry_after_seconds: seconds_to_midnight(now),
        daily_pages: daily,
        monthly_pages: monthly,
        concurrent_runs: Count {
            used: used.concurrent_runs,
            cap: tier.concurrent_runs.0,
        },
    }))
}
