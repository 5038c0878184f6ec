//! The playground: one page, or a search, with the answer and the request to repeat it.

use axum::Extension;
use axum::response::Response;
use serde_json::{Value, json};

use super::forms::{self, Field};
use super::render;
use super::samples::samples;
use super::session::Form;
use super::visitor::Visitor;
use crate::bounds;
use crate::inside::{Call, Failure, Inside};
use crate::operation_input::input_schema;

/// Characters of Markdown that are shown.
const MAX_SHOWN: usize = 60_000;
/// Bytes of the answer's JSON that are shown.
const MAX_JSON: usize = 40_000;
/// Links that are listed.
const MAX_LINKS: usize = 200;
/// Fields of a scan that stand first.
const FIRST: [&str; 5] = [
    "url",
    "only_main_content",
    "include_links",
    "screenshot_inline",
    "cloud_mode",
];

/// GET / of someone who is signed in.
pub(super) fn playground(visitor: &Visitor, inside: &Inside) -> Response {
    show(visitor, inside, &Value::Null, Value::Null, None)
}

/// POST /console/scan.
pub(super) async fn scan(Extension(inside): Extension<Inside>, form: Form) -> Response {
    let schema = input_schema(inside.document(), "post", "/v1/scan");
    let input = forms::entered(&schema, |name| form.get(name));
    let visitor = &form.visitor;
    let call = Call::post("/v1/scan", input.clone());
    match inside.json(&visitor.ctx, call).await {
        Ok(answer) => {
            let result = shown(answer);
            show(visitor, &inside, &input, result, None)
        }
        Err(failure) => show(visitor, &inside, &input, Value::Null, Some(&failure)),
    }
}

/// POST /console/search.
pub(super) async fn search(Extension(inside): Extension<Inside>, form: Form) -> Response {
    let visitor = &form.visitor;
    let query = form.get("query").unwrap_or_default();
    let input = json!({"query": query, "limit": 10});
    let call = Call::post("/v1/cloud/search", input.clone());
    let (found, failure) = match inside.json(&visitor.ctx, call).await {
        Ok(mut found) => {
            bounds::bound(&mut found, MAX_SHOWN);
            (found, None)
        }
        Err(failure) => (Value::Null, Some(failure)),
    };
    render::page(
        visitor,
        "search.html",
        json!({
            "query": query,
            "found": found,
            "failure": failure.as_ref().map(render::said),
            "samples": samples(&visitor.base, "/v1/cloud/search", &input),
        }),
    )
}

/// An answer as the page shows it.
fn shown(mut answer: Value) -> Value {
    let screenshot = answer
        .as_object_mut()
        .and_then(|answer| answer.remove("screenshot"));
    let markdown = answer["markdown"].as_str().unwrap_or_default();
    let text: String = markdown.chars().take(MAX_SHOWN).collect();
    let is_cut = text.len() < markdown.len();
    let links: Vec<Value> = answer["links"]
        .as_array()
        .into_iter()
        .flatten()
        .take(MAX_LINKS)
        .cloned()
        .collect();
    let metadata = answer["metadata"].clone();
    let head = json!({
        "url": answer["url"], "final_url": answer["final_url"], "status": answer["status"],
        "bytes": answer["bytes"], "errors": answer["errors"], "warnings": answer["warnings"],
        "screenshot_error": answer["screenshot_error"],
    });
    bounds::bound(&mut answer, MAX_JSON);
    json!({
        "head": head,
        "markdown": text,
        "is_cut": is_cut,
        "metadata": metadata,
        "links": links,
        "screenshot": screenshot,
        "answer": answer,
    })
}

fn show(
    visitor: &Visitor,
    inside: &Inside,
    input: &Value,
    result: Value,
    failure: Option<&Failure>,
) -> Response {
    let schema = input_schema(inside.document(), "post", "/v1/scan");
    let (fields, more): (Vec<Field>, Vec<Field>) = forms::fields(&schema, &FIRST, input)
        .into_iter()
        .partition(|field| FIRST.contains(&field.name()));
    render::page(
        visitor,
        "playground.html",
        json!({
            "fields": fields,
            "more": more,
            "result": result,
            "samples": samples(&visitor.base, "/v1/scan", input),
            "failure": failure.map(render::said),
        }),
    )
}
