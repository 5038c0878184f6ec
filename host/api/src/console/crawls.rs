//! Crawls: the list, the form that starts one, a run with what it has, and its progress.

use axum::Extension;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::given::Given;
use super::render;
use super::samples::samples;
use super::session::Form;
use super::visitor::Visitor;
use super::{crawl_form, forms, graph, notice, sides};
use crate::inside::{Call, Failure, Inside, segment};
use crate::operation_input::input_schema;

/// Rows of a page of a list.
const ROWS: u64 = 50;
/// Rows of a list that the API does not divide into pages.
const MAX_ROWS: usize = 200;
/// Which part of a list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Place {
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    view: String,
    #[serde(default)]
    status: String,
}

/// GET /console/crawls.
pub(super) async fn list(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Given(place): Given<Place>,
) -> Response {
    show_list(&visitor, &inside, &place, &Value::Null, None).await
}

/// POST /console/crawls.
pub(super) async fn start(Extension(inside): Extension<Inside>, form: Form) -> Response {
    let schema = input_schema(inside.document(), "post", "/v1/crawls");
    let input = forms::entered(&schema, |name| form.get(name));
    let visitor = &form.visitor;
    let app = &visitor.ctx.app;
    let call = Call::post("/v1/crawls", input.clone());
    match inside.json(&visitor.ctx, call).await {
        Ok(made) => match made["id"].as_i64() {
            Some(id) => notice::redirect(app, &format!("/console/crawls/{id}"), &made),
            None => notice::redirect(app, "/console/monitors", &made),
        },
        Err(failure) if input.get("cron").is_some() => {
            super::monitors::show(visitor, &inside, &input, Some(&failure)).await
        }
        Err(failure) => {
            let place = Place::default();
            show_list(visitor, &inside, &place, &input, Some(&failure)).await
        }
    }
}

async fn show_list(
    visitor: &Visitor,
    inside: &Inside,
    place: &Place,
    input: &Value,
    failure: Option<&Failure>,
) -> Response {
    let call = Call::get("/v1/crawls")
        .with("limit", &ROWS.to_string())
        .with("offset", &place.offset.to_string());
    let crawls = match inside.json(&visitor.ctx, call).await {
        Ok(crawls) => crawls,
        Err(failure) => return render::error(&failure),
    };
    let (fields, more) = crawl_form::crawl(inside, input);
    render::page(
        visitor,
        "crawls.html",
        json!({
            "crawls": crawls,
            "fields": fields,
            "more": more,
            "offset": place.offset,
            "failure": failure.map(render::said),
            "samples": samples(&visitor.base, "/v1/crawls", input),
        }),
    )
}

/// GET /console/crawls/{id}.
pub(super) async fn run(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    Given(place): Given<Place>,
) -> Response {
    match show_run(&visitor, &inside, &id, &place).await {
        Ok(response) => response,
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

async fn show_run(
    visitor: &Visitor,
    inside: &Inside,
    id: &str,
    place: &Place,
) -> Result<Response, Failure> {
    let path = format!("/v1/crawls/{}", segment(id));
    let run = inside.json(&visitor.ctx, Call::get(&path)).await?;
    let view = match place.view.as_str() {
        view @ ("errors" | "links" | "graph" | "orphans" | "deliveries") => view,
        _ => "pages",
    };
    let list = if view == "graph" { "links" } else { view };
    let mut call = Call::get(format!("{path}/{list}"));
    if view == "graph" {
        call = call.with("limit", &graph::MAX_LINKS.to_string());
    } else if view != "orphans" && view != "deliveries" {
        call = call
            .with("limit", &ROWS.to_string())
            .with("offset", &place.offset.to_string());
    }
    if view == "pages" && !place.status.is_empty() {
        call = call.with("status", &place.status);
    }
    // A view that this run can't have (links without stored HTML) says why in its place.
    let (mut list, problem) = match inside.json(&visitor.ctx, call).await {
        Ok(list) => (with_run(list, &run["id"]), None),
        Err(failure) => (json!({"items": []}), Some(failure)),
    };
    let unlisted = match view {
        "orphans" => cut(&mut list),
        _ => 0,
    };
    let drawing = match (view, &problem) {
        ("graph", None) => {
            let limit = graph::MAX_PAGES.to_string();
            let pages = Call::get(format!("{path}/pages")).with("limit", &limit);
            let pages = inside.json(&visitor.ctx, pages).await?;
            graph::drawn(items(&pages), items(&list))
        }
        _ => Value::Null,
    };
    let recent = Call::get("/v1/crawls")
        .with("limit", "200")
        .with("status", "done");
    let recent = inside.json(&visitor.ctx, recent).await?;
    let is_live = matches!(run["status"].as_str(), Some("queued" | "running"));
    // A run that goes on has nothing to compare yet.
    let others: Vec<&Value> = recent["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|other| !is_live && other["url"] == run["url"] && other["id"] != run["id"])
        .take(20)
        .collect();
    Ok(render::page(
        visitor,
        "run.html",
        json!({
            "run": run,
            "view": view,
            "list": list,
            "unlisted": unlisted,
            "graph": drawing,
            "others": others,
            "is_live": is_live,
            "offset": place.offset,
            "status": place.status,
            "problem": problem.as_ref().map(render::said),
            "curl": format!("curl -s {}{path} -H \"Authorization: Bearer $KEY\"", visitor.base),
        }),
    ))
}

/// The same list, whose items know their run.
fn with_run(mut list: Value, run: &Value) -> Value {
    if let Some(items) = list["items"].as_array_mut() {
        for item in items {
            item["run"] = run.clone();
        }
    }
    list
}

/// Cuts a list; how many items it loses.
fn cut(list: &mut Value) -> usize {
    let Some(items) = list["items"].as_array_mut() else {
        return 0;
    };
    let more = items.len().saturating_sub(MAX_ROWS);
    items.truncate(MAX_ROWS);
    more
}

/// The items of a list.
fn items(list: &Value) -> &[Value] {
    let items = list.get("items").and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// GET /console/crawls/{id}/events: the progress, for the page's script.
pub(super) async fn events(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
) -> Response {
    let call = Call::get(format!("/v1/crawls/{}/events", segment(&id)));
    match inside.open(&visitor.ctx, call).await {
        Ok(response) => response,
        Err(failure) => render::error(&failure),
    }
}

/// POST /console/crawls/{id}/delete.
pub(super) async fn delete(
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    form: Form,
) -> Response {
    let call = Call::new(Method::DELETE, format!("/v1/crawls/{}", segment(&id)));
    match inside.json(&form.visitor.ctx, call).await {
        Ok(_) => Redirect::to("/console/crawls").into_response(),
        Err(failure) => render::error_to(&form.visitor, &failure),
    }
}

/// POST /console/crawls/{id}/deliveries/{delivery}: sends a webhook once more.
pub(super) async fn redeliver(
    Extension(inside): Extension<Inside>,
    Path((id, delivery)): Path<(String, String)>,
    form: Form,
) -> Response {
    let (id, delivery) = (segment(&id), segment(&delivery));
    let path = format!("/v1/crawls/{id}/deliveries/{delivery}/redeliver");
    let call = Call::new(Method::POST, path);
    match inside.json(&form.visitor.ctx, call).await {
        Ok(_) => {
            let back = format!("/console/crawls/{id}?view=deliveries");
            Redirect::to(&back).into_response()
        }
        Err(failure) => render::error_to(&form.visitor, &failure),
    }
}

/// Which two runs.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Two {
    #[serde(default)]
    old: String,
    #[serde(default)]
    new: String,
}

/// GET /console/diff.
pub(super) async fn diff(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Given(two): Given<Two>,
) -> Response {
    let (old, new) = (segment(two.old.trim()), segment(two.new.trim()));
    let path = format!("/v1/crawls/{old}/diff/{new}");
    match inside
        .json(&visitor.ctx, Call::get(&path).with("text", "true"))
        .await
    {
        Ok(mut diff) => {
            for name in ["changed", "gone"] {
                for item in diff[name].as_array_mut().into_iter().flatten() {
                    if let Some(unified) = item["text"]["unified"].as_str() {
                        item["rows"] = json!(sides::rows(unified));
                    }
                }
            }
            let line = format!("curl -s '{}{path}?text=true'", visitor.base);
            let curl = format!("{line} -H \"Authorization: Bearer $KEY\"");
            render::page(&visitor, "diff.html", json!({"diff": diff, "curl": curl}))
        }
        Err(failure) => render::error_to(&visitor, &failure),
    }
}
