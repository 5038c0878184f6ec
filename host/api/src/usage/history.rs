//! GET /v1/usage/history.

use std::collections::BTreeMap;

use axum::Json;
use chrono::{Days, NaiveDate};
use orbweaver_store::UsageDay;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors};
use crate::input::Query;
use orbweaver_accounts::usage::dollars;

const DEFAULT_DAYS: u32 = 30;
const MAX_DAYS: u32 = 365;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many days, today included.
    #[param(minimum = 1, maximum = 365, default = 30)]
    days: Option<u32>,
}

impl Params {
    /// The first of the days, and today.
    ///
    /// # Errors
    /// 422 for a number of days that is not allowed.
    pub(super) fn range(&self, ctx: &Ctx) -> Result<(NaiveDate, NaiveDate), ApiError> {
        let count = self.days.unwrap_or(DEFAULT_DAYS);
        if !(1..=MAX_DAYS).contains(&count) {
            return Err(ApiError::invalid("days", "must be between 1 and 365"));
        }
        let today = ctx.app.clock.now().date_naive();
        let back = Days::new(u64::from(count - 1));
        Ok((today.checked_sub_days(back).unwrap_or(today), today))
    }
}

/// One entry per UTC day, oldest first, days without usage included.
#[derive(Serialize, ToSchema)]
pub(super) struct History {
    days: Vec<Day>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = HistoryDay)]
struct Day {
    date: NaiveDate,
    pages: u64,
    cloud_pages: u64,
    cloud_cost_usd: f64,
}

/// Usage of the project per day.
#[utoipa::path(
    get,
    path = "/v1/usage/history",
    tag = "Usage and logs",
    params(Params),
    responses((status = 200, description = "Days, oldest first", body = History), CommonErrors)
)]
pub(super) async fn usage_history(ctx: Ctx, query: Query<Params>) -> JsonAnswer<History> {
    let (first, today) = query.0.range(&ctx)?;
    let known = ctx
        .app
        .store
        .usage_days(ctx.principal.project, first)
        .await?;
    let known: BTreeMap<NaiveDate, UsageDay> =
        known.into_iter().map(|day| (day.date, day)).collect();
    let days = first
        .iter_days()
        .take_while(|date| *date <= today)
        .map(|date| {
            let day = known.get(&date);
            Day {
                date,
                pages: day.map_or(0, |day| day.pages),
                cloud_pages: day.map_or(0, |day| day.cloud_pages),
                cloud_cost_usd: dollars(day.map_or(0, |day| day.cost_micros)),
            }
        })
        .collect();
    Ok(Json(History { days }))
}
