//! Monitors: the list, the form that makes one, and their switches.

use axum::Extension;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::Method;
use serde_json::{Value, json};

use super::crawl_form;
use super::render::{self, curl};
use super::session::Form;
use super::visitor::Visitor;
use crate::error::ApiError;
use crate::inside::{Call, Failure, Inside, segment};

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
            "curl": curl(&visitor.base, "/v1/crawls", input),
        }),
    )
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
