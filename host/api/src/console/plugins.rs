//! Plugins: the list; what the calls of one used, those that failed last, and its log.

use axum::Extension;
use axum::extract::Path;
use axum::response::Response;
use http::Method;
use serde_json::{Value, json};

use super::render;
use super::session::Form;
use super::visitor::Visitor;
use crate::bounds;
use crate::inside::{Call, Failure, Inside, segment};

/// Failed calls shown.
const CALLS: &str = "20";
/// Lines of the log shown.
const LINES: &str = "100";

/// Bytes of the result of a call that was made again.
const MAX_RESULT: usize = 40_000;

/// GET /console/plugins.
pub(super) async fn list(visitor: Visitor, Extension(inside): Extension<Inside>) -> Response {
    match inside.json(&visitor.ctx, Call::get("/v1/plugins")).await {
        Ok(plugins) => render::page(&visitor, "plugins.html", json!({"plugins": plugins})),
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

/// GET /console/plugins/{name}.
pub(super) async fn show(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Path(name): Path<String>,
) -> Response {
    show_parts(&visitor, &inside, &name, Value::Null).await
}

/// POST /console/plugins/{name}/calls/{id}: makes a failed call again.
pub(super) async fn replay(
    Extension(inside): Extension<Inside>,
    Path((name, id)): Path<(String, String)>,
    form: Form,
) -> Response {
    let path = format!(
        "/v1/plugins/{}/calls/{}/replay",
        segment(&name),
        segment(&id)
    );
    let mut replayed = match inside
        .json(&form.visitor.ctx, Call::new(Method::POST, path))
        .await
    {
        Ok(replayed) => replayed,
        Err(failure) => json!({"failure": render::said(&failure)}),
    };
    bounds::bound(&mut replayed, MAX_RESULT);
    show_parts(&form.visitor, &inside, &name, replayed).await
}

async fn show_parts(visitor: &Visitor, inside: &Inside, name: &str, replayed: Value) -> Response {
    match parts(visitor, inside, name).await {
        Ok(mut page) => {
            page["replayed"] = replayed;
            page["slug"] = json!(segment(name));
            render::page(visitor, "plugin.html", page)
        }
        Err(failure) => render::error_to(visitor, &failure),
    }
}

async fn parts(visitor: &Visitor, inside: &Inside, name: &str) -> Result<Value, Failure> {
    let path = format!("/v1/plugins/{}", segment(name));
    let plugin = inside.json(&visitor.ctx, Call::get(path.clone())).await?;
    let metrics = Call::get(format!("{path}/metrics"));
    let metrics = inside.json(&visitor.ctx, metrics).await?;
    let list = |what: &str, limit: &str| Call::get(format!("{path}/{what}")).with("limit", limit);
    let calls = inside.json(&visitor.ctx, list("calls", CALLS)).await?;
    let logs = inside.json(&visitor.ctx, list("logs", LINES)).await?;
    Ok(json!({"plugin": plugin, "metrics": metrics, "calls": calls, "logs": logs}))
}
