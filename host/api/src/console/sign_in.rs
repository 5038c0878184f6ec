//! Signing in with a key, and out.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde_json::json;

use super::render;
use super::session::{self, Form};
use crate::app::App;
use crate::base::base_url;
use crate::inside::Failure;
use crate::scope::Scope;

/// POST /console/sign-in.
pub(super) async fn sign_in(
    State(app): State<App>,
    Extension(scope): Extension<Scope>,
    request: Request,
) -> Response {
    let base = base_url(&app, &scope, request.headers());
    let fields = match session::fields(request, &app).await {
        Ok(fields) => fields,
        Err(error) => return render::error(&error.into()),
    };
    let key = fields.iter().find(|(name, _)| name == "key");
    let key = key.map(|(_, key)| key.trim()).unwrap_or_default();
    let mut response = Redirect::to("/").into_response();
    match session::begin(&app, &scope, key, &mut response).await {
        Ok(()) => response,
        Err(error) => {
            let failure = Failure::from(error);
            let values = json!({"base": base, "failure": render::said(&failure)});
            let mut response = render::open_page("welcome.html", values);
            *response.status_mut() = failure.status;
            response
        }
    }
}

/// POST /console/sign-out.
pub(super) async fn sign_out(State(app): State<App>, _: Form) -> Response {
    let mut response = Redirect::to("/").into_response();
    session::end(&app, &mut response);
    response
}
