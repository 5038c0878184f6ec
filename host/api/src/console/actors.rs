//! Actors: the list, a form for each from its input schema, and its answer.

use axum::Extension;
use axum::extract::Path;
use axum::response::Response;
use serde_json::{Value, json};

use super::forms;
use super::render;
use super::samples::samples;
use super::session::Form;
use super::visitor::Visitor;
use crate::bounds;
use crate::error::ApiError;
use crate::inside::{Call, Failure, Inside, segment};

/// Bytes of the answer's JSON that are shown.
const MAX_JSON: usize = 80_000;
/// Fields that stand first.
const FIRST: [&str; 3] = ["url", "urls", "crawl_id"];

/// GET /console/actors.
pub(super) async fn list(visitor: Visitor, Extension(inside): Extension<Inside>) -> Response {
    match inside.json(&visitor.ctx, Call::get("/v1/actors")).await {
        Ok(actors) => render::page(&visitor, "actors.html", json!({"actors": actors})),
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

/// GET /console/actors/{name}.
pub(super) async fn form(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Path(name): Path<String>,
) -> Response {
    match find(&visitor, &inside, &name).await {
        Ok(actor) => show(&visitor, &actor, &Value::Null, Value::Null, None),
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

/// POST /console/actors/{name}.
pub(super) async fn run(
    Extension(inside): Extension<Inside>,
    Path(name): Path<String>,
    form: Form,
) -> Response {
    let visitor = &form.visitor;
    let actor = match find(visitor, &inside, &name).await {
        Ok(actor) => actor,
        Err(failure) => return render::error_to(visitor, &failure),
    };
    let input = forms::entered(&actor["input_schema"], |name| form.get(name));
    let call = Call::post(format!("/v1/actors/{}", segment(&name)), input.clone());
    match inside.json(&visitor.ctx, call).await {
        Ok(mut answer) => {
            let is_cut = !bounds::bound(&mut answer, MAX_JSON).is_empty();
            let result = json!({"answer": answer, "is_cut": is_cut});
            show(visitor, &actor, &input, result, None)
        }
        Err(failure) => show(visitor, &actor, &input, Value::Null, Some(&failure)),
    }
}

async fn find(visitor: &Visitor, inside: &Inside, name: &str) -> Result<Value, Failure> {
    let mut actors = inside.json(&visitor.ctx, Call::get("/v1/actors")).await?;
    let items = actors["items"].as_array_mut().into_iter().flatten();
    let mut named = items.filter(|actor| actor["name"] == name);
    let missing = || ApiError::not_found("there is no such actor").into();
    named.next().map(Value::take).ok_or_else(missing)
}

fn show(
    visitor: &Visitor,
    actor: &Value,
    input: &Value,
    result: Value,
    failure: Option<&Failure>,
) -> Response {
    let fields = forms::fields(&actor["input_schema"], &FIRST, input);
    let path = format!("/v1/actors/{}", actor["name"].as_str().unwrap_or_default());
    render::page(
        visitor,
        "actor.html",
        json!({
            "actor": actor,
            "fields": fields,
            "result": result,
            "failure": failure.map(render::said),
            "samples": samples(&visitor.base, &path, input),
        }),
    )
}
