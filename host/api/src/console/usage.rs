//! Usage: what is left of the caps, and pages per day and kind of call.

use axum::Extension;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::given::Given;
use super::render;
use super::usage_chart::{self, Use};
use super::visitor::Visitor;
use crate::inside::{Call, Failure, Inside};

/// The periods that can be chosen, in days.
const PERIODS: [u32; 4] = [7, 30, 90, 365];
/// The period that is shown first.
const DEFAULT_PERIOD: u32 = 30;

/// How many days.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Period {
    #[serde(default)]
    days: String,
}

/// GET /console/usage.
pub(super) async fn show(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Given(period): Given<Period>,
) -> Response {
    let asked = period.days.parse().ok();
    let days = asked.filter(|days| PERIODS.contains(days));
    match parts(&visitor, &inside, days.unwrap_or(DEFAULT_PERIOD)).await {
        Ok(values) => render::page(&visitor, "usage.html", values),
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

async fn parts(visitor: &Visitor, inside: &Inside, days: u32) -> Result<Value, Failure> {
    let usage = inside.json(&visitor.ctx, Call::get("/v1/usage")).await?;
    let of_period = |path: &str| Call::get(path).with("days", &days.to_string());
    let history = of_period("/v1/usage/history");
    let history = inside.json(&visitor.ctx, history).await?;
    let calls = of_period("/v1/usage/calls");
    let calls = inside.json(&visitor.ctx, calls).await?;
    let dates: Vec<&str> = items(&history, "days")
        .filter_map(|day| day["date"].as_str())
        .collect();
    let uses: Vec<Use<'_>> = items(&calls, "items").filter_map(used).collect();
    let cap = usage["daily_pages"]["cap"].as_u64();
    let chart = usage_chart::drawn(&dates, &uses, cap);
    let left = |name: &str| {
        let (used, cap) = (usage[name]["used"].as_u64()?, usage[name]["cap"].as_u64()?);
        Some(cap.saturating_sub(used))
    };
    let rest = json!({
        "daily_pages": left("daily_pages"),
        "monthly_pages": left("monthly_pages"),
        "concurrent_runs": left("concurrent_runs"),
    });
    let cloud = json!({
        "used": usage["today"]["cloud_pages"],
        "cap": usage["caps"]["cloud_pages_per_day"],
        "left": usage["caps"]["cloud_pages_per_day"].as_u64().map(|cap| {
            cap.saturating_sub(usage["today"]["cloud_pages"].as_u64().unwrap_or_default())
        }),
    });
    let path = format!("/v1/usage/calls?days={days}");
    Ok(json!({
        "usage": usage,
        "rest": rest,
        "cloud": cloud,
        "days": days,
        "periods": PERIODS,
        "history": history,
        "chart": chart,
        "curl": format!("curl -s '{}{path}' -H \"Authorization: Bearer $KEY\"", visitor.base),
    }))
}

fn items<'a>(list: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    list[name].as_array().into_iter().flatten()
}

fn used(item: &Value) -> Option<Use<'_>> {
    Some(Use {
        date: item["date"].as_str()?,
        call: item["call"].as_str()?,
        pages: item["pages"].as_u64()?,
        cloud_pages: item["cloud_pages"].as_u64()?,
        cost: item["cloud_cost_usd"].as_f64()?,
    })
}
