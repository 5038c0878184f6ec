//! Plugins: the list, and what the calls of one used.

use axum::Extension;
use axum::extract::Path;
use axum::response::Response;
use serde_json::json;

use super::render;
use super::visitor::Visitor;
use crate::inside::{Call, Failure, Inside, segment};

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
    Ok(json!({"plugin": plugin, "metrics": metrics}))
}
