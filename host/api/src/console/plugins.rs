//! Plugins: the list; what the calls of one used, those that failed last, and its log.

use axum::Extension;
use axum::extract::Path;
use axum::response::Response;
use serde_json::json;

use super::render;
use super::visitor::Visitor;
use crate::inside::{Call, Failure, Inside, segment};

/// Failed calls shown.
const CALLS: &str = "20";
/// Lines of the log shown.
const LINES: &str = "100";

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
    match parts(&visitor, &inside, &name).await {
        Ok(page) => render::page(&visitor, "plugin.html", page),
        Err(failure) => render::error_to(&visitor, &failure),
    }
}

async fn parts(
    visitor: &Visitor,
    inside: &Inside,
    name: &str,
) -> Result<serde_json::Value, Failure> {
    let path = format!("/v1/plugins/{}", segment(name));
    let plugin = inside.json(&visitor.ctx, Call::get(path.clone())).await?;
    let metrics = Call::get(format!("{path}/metrics"));
    let metrics = inside.json(&visitor.ctx, metrics).await?;
    let list = |what: &str, limit: &str| Call::get(format!("{path}/{what}")).with("limit", limit);
    let calls = inside.json(&visitor.ctx, list("calls", CALLS)).await?;
    let logs = inside.json(&visitor.ctx, list("logs", LINES)).await?;
    Ok(json!({"plugin": plugin, "metrics": metrics, "calls": calls, "logs": logs}))
}
