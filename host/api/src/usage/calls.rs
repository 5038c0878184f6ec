//! GET /v1/usage/calls.

use axum::Json;
use chrono::NaiveDate;
use serde::Serialize;
use utoipa::ToSchema;

use super::history::Params;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;
use crate::input::Query;
use orbweaver_accounts::usage::dollars;

/// One entry per UTC day and kind of call, oldest first; those without usage are left out.
#[derive(Serialize, ToSchema)]
pub(super) struct UsageCalls {
    items: Vec<UsageCall>,
}

#[derive(Serialize, ToSchema)]
struct UsageCall {
    date: NaiveDate,
    /// What was called: `crawl`, `scan`, `bulk`, `cloud-search`, the name of a built-in actor,
    /// `actor` for all others …
    call: String,
    pages: u64,
    cloud_pages: u64,
    cloud_cost_usd: f64,
}

/// Usage of the project per day and kind of call.
#[utoipa::path(
    get,
    path = "/v1/usage/calls",
    tag = "Usage and logs",
    params(Params),
    extensions(("x-extension" = json!(true))),
    responses((status = 200, description = "Days and calls, oldest first", body = UsageCalls), CommonErrors)
)]
pub(super) async fn usage_calls(ctx: Ctx, query: Query<Params>) -> JsonAnswer<UsageCalls> {
    let (first, today) = query.0.range(&ctx)?;
    let project = ctx.principal.project;
    let items = ctx.app.store.usage_calls(project, first).await?;
    let items = items
        .into_iter()
        .filter(|item| item.date <= today)
        .map(|item| UsageCall {
            date: item.date,
            call: item.call,
            pages: item.pages,
            cloud_pages: item.cloud_pages,
            cloud_cost_usd: dollars(item.cost_micros),
        })
        .collect();
    Ok(Json(UsageCalls { items }))
}
