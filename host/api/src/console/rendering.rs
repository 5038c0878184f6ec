//! The playground's second page: a page as a browser shows it.

use axum::Extension;
use axum::response::Response;
use serde_json::{Value, json};

use super::forms::{self, Field};
use super::render;
use super::samples::samples;
use super::session::Form;
use super::visitor::Visitor;
use crate::inside::{Call, Failure, Inside};
use crate::operation_input::input_schema;

const PATH: &str = "/v1/cloud/render";
/// Characters of the content that are shown.
const MAX_SHOWN: usize = 100_000;
/// Fields that stand first.
const FIRST: [&str; 2] = ["url", "return_format"];

/// GET /console/render.
pub(super) async fn form(visitor: Visitor, Extension(inside): Extension<Inside>) -> Response {
    show(&visitor, &inside, &Value::Null, Value::Null, None)
}

/// POST /console/render.
pub(super) async fn render(Extension(inside): Extension<Inside>, form: Form) -> Response {
    let schema = input_schema(inside.document(), "post", PATH);
    let input = forms::entered(&schema, |name| form.get(name));
    let visitor = &form.visitor;
    match inside
        .json(&visitor.ctx, Call::post(PATH, input.clone()))
        .await
    {
        Ok(answer) => {
            let result = shown(answer, input["return_format"].as_str());
            show(visitor, &inside, &input, result, None)
        }
        Err(failure) => show(visitor, &inside, &input, Value::Null, Some(&failure)),
    }
}

/// An answer as the page shows it: pictures whole, text cut.
fn shown(mut answer: Value, format: Option<&str>) -> Value {
    let format = format.unwrap_or("raw");
    let content = match answer["content"].take() {
        Value::String(content) => content,
        _ => String::new(),
    };
    let mut is_cut = false;
    let content = match content.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) if format != "png" => {
            is_cut = true;
            content.get(..end).unwrap_or_default().to_owned()
        }
        _ => content,
    };
    json!({
        "format": format,
        "content": content,
        "is_cut": is_cut,
        "screenshots": answer["screenshots"],
        "warnings": answer["warnings"],
        "elapsed_ms": answer["elapsed_ms"],
        "cost_usd": answer["cost_usd"],
    })
}

fn show(
    visitor: &Visitor,
    inside: &Inside,
    input: &Value,
    result: Value,
    failure: Option<&Failure>,
) -> Response {
    let warnings = result["warnings"].clone();
    let schema = input_schema(inside.document(), "post", PATH);
    let (fields, more): (Vec<Field>, Vec<Field>) = forms::fields(&schema, &FIRST, input)
        .into_iter()
        .partition(|field| FIRST.contains(&field.name()));
    render::page(
        visitor,
        "render.html",
        json!({
            "fields": fields,
            "more": more,
            "result": result,
            "samples": samples(&visitor.base, PATH, input),
            "failure": failure.map(render::said),
            "warnings": warnings,
        }),
    )
}
