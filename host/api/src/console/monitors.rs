//! Monitors: the list, the form that makes one, and their switches.

use axum::Extension;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect, Response};
use futures::future::join_all;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::crawl_form;
use super::given::Given;
use super::render;
use super::samples::samples;
use super::session::Form;
use super::visitor::Visitor;
use crate::error::ApiError;
use crate::inside::{Call, Failure, Inside, segment};

/// Runs of a page of a monitor's history.
const RUNS: usize = 50;
/// Youngest runs whose deliveries are shown.
const WITH_DELIVERIES: usize = 10;

/// GET /console/monitors.
pub(super) async fn list(visitor: Visitor, Extension(inside): Extension<Inside>) -> Response {
    show(&visitor, &inside, &Value::Null, None).await
}

/// The list and the form, with what was entered and why it was refused.
pub(super) async fn show(
    visitor: &Visitor,
    inside: &Inside,
    input: &Value,
    failure: Option<&Failure>,
) -> Response {
    let monitors = match inside.json(&visitor.ctx, Call::get("/v1/crons")).await {
        Ok(monitors) => monitors,
        Err(failure) => return render::error_to(visitor, &failure),
    };
    let (fields, more) = crawl_form::monitor(inside, input);
    render::page(
        visitor,
        "monitors.html",
        json!({
            "monitors": monitors,
            "fields": fields,
            "more": more,
            "failure": failure.map(render::said),
            "samples": samples(&visitor.base, "/v1/crawls", input),
        }),
    )
}

/// Which part of a monitor's history.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Place {
    #[serde(default)]
    offset: u64,
}

/// GET /console/monitors/{id}: its runs, and what was sent of the youngest.
pub(super) async fn one(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    Given(place): Given<Place>,
) -> Response {
    match history(&visitor, &inside, &id, place.offset).await {
        Ok(values) => render::page(&visitor, "monitor.html", values),
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

async fn history(
    visitor: &Visitor,
    inside: &Inside,
    id: &str,
    offset: u64,
) -> Result<Value, Failure> {
    let path = format!("/v1/crons/{}", segment(id));
    let monitor = inside.json(&visitor.ctx, Call::get(&path)).await?;
    // One more, so that the last one of the page can be compared, too.
    let runs = Call::get("/v1/crawls")
        .with("monitor_id", &monitor["id"].to_string())
        .with("limit", &(RUNS + 1).to_string())
        .with("offset", &offset.to_string());
    let mut runs = inside.json(&visitor.ctx, runs).await?;
    let mut items: Vec<Value> = match runs["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    let befores: Vec<Value> = (1..=items.len())
        .map(|younger| {
            let mut older = items.iter().skip(younger);
            older.find(|run| run["status"] == "done")
        })
        .map(|run| run.map_or(Value::Null, |run| run["id"].clone()))
        .collect();
    for (run, before) in items.iter_mut().zip(befores) {
        run["before"] = before;
    }
    let next = (items.len() > RUNS).then(|| offset + RUNS as u64);
    items.truncate(RUNS);
    let sent = async |run: &Value| {
        let call = Call::get(format!("/v1/crawls/{}/deliveries", run["id"]));
        let mut list = inside.json(&visitor.ctx, call).await.ok()?;
        let mut items = match list["items"].take() {
            Value::Array(items) => items,
            _ => return None,
        };
        for item in &mut items {
            item["run"] = run["id"].clone();
        }
        Some(items)
    };
    let deliveries: Vec<Value> = match offset {
        0 => join_all(items.iter().take(WITH_DELIVERIES).map(sent))
            .await
            .into_iter()
            .flatten()
            .flatten()
            .collect(),
        _ => Vec::new(),
    };
    Ok(json!({
        "monitor": monitor,
        "runs": items,
        "deliveries": deliveries,
        "offset": offset,
        "next": next,
        "curl": format!("curl -s {}{path} -H \"Authorization: Bearer $KEY\"", visitor.base),
    }))
}

/// POST /console/monitors/{id}/{action}.
pub(super) async fn change(
    Extension(inside): Extension<Inside>,
    Path((id, action)): Path<(String, String)>,
    form: Form,
) -> Response {
    let path = format!("/v1/crons/{}", segment(&id));
    let call = match action.as_str() {
        "pause" => Call::new(Method::PATCH, path).with_body(json!({"enabled": false})),
        "resume" => Call::new(Method::PATCH, path).with_body(json!({"enabled": true})),
        "delete" => Call::new(Method::DELETE, path),
        _ => return render::error_to(&form.visitor, &ApiError::no_such_path().into()),
    };
    match inside.json(&form.visitor.ctx, call).await {
        Ok(_) => Redirect::to("/console/monitors").into_response(),
        Err(failure) => render::error_to(&form.visitor, &failure),
    }
}
