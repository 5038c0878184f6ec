//! Keys of the project.

use axum::Extension;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::Method;
use serde_json::{Value, json};

use super::render;
use super::session::Form;
use super::visitor::Visitor;
use crate::inside::{Call, Failure, Inside, segment};

/// GET /console/keys.
pub(super) async fn list(visitor: Visitor, Extension(inside): Extension<Inside>) -> Response {
    show_keys(&visitor, &inside, Value::Null, None).await
}

/// POST /console/keys/rotate.
pub(super) async fn rotate(Extension(inside): Extension<Inside>, form: Form) -> Response {
    let mut input = json!({});
    if let Some(label) = form
        .get("label")
        .map(str::trim)
        .filter(|label| !label.is_empty())
    {
        input["label"] = json!(label);
    }
    let grace = form.get("grace_seconds").map(str::trim);
    if let Some(grace) = grace.filter(|grace| !grace.is_empty()) {
        input["grace_seconds"] = serde_json::from_str(grace).unwrap_or_else(|_| json!(grace));
    }
    let call = Call::post("/v1/keys/rotate", input);
    match inside.json(&form.visitor.ctx, call).await {
        Ok(made) => show_keys(&form.visitor, &inside, made, None).await,
        Err(failure) => show_keys(&form.visitor, &inside, Value::Null, Some(&failure)).await,
    }
}

/// POST /console/keys/{prefix}/revoke.
pub(super) async fn revoke(
    Extension(inside): Extension<Inside>,
    Path(prefix): Path<String>,
    form: Form,
) -> Response {
    let call = Call::new(Method::DELETE, format!("/v1/keys/{}", segment(&prefix)));
    match inside.json(&form.visitor.ctx, call).await {
        Ok(_) => Redirect::to("/console/keys").into_response(),
        Err(failure) => show_keys(&form.visitor, &inside, Value::Null, Some(&failure)).await,
    }
}

async fn show_keys(
    visitor: &Visitor,
    inside: &Inside,
    made: Value,
    failure: Option<&Failure>,
) -> Response {
    match inside.json(&visitor.ctx, Call::get("/v1/keys")).await {
        Ok(keys) => render::page(
            visitor,
            "keys.html",
            json!({
                "keys": keys,
                "made": made,
                "own": visitor.ctx.principal.prefix,
                "failure": failure.map(render::said),
            }),
        ),
        Err(failure) => render::error_to(visitor, &failure),
    }
}
