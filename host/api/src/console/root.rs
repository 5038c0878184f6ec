//! GET /.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::visitor::Visitor;
use super::{playground, render};
use crate::accept;
use crate::app::App;
use crate::base::base_url;
use crate::inside::Inside;
use crate::scope::Scope;

/// What this is, and where to go on.
#[derive(Serialize, ToSchema)]
pub(super) struct Service {
    /// `orbweaver`.
    name: &'static str,
    /// The version of the program.
    version: &'static str,
    /// The API's reference, for people.
    docs: &'static str,
    /// The OpenAPI document.
    openapi: &'static str,
    /// The Model Context Protocol.
    mcp: &'static str,
}

/// The console to browsers; name, version and links to others.
#[utoipa::path(
    get,
    path = "/",
    operation_id = "root",
    tag = "Console",
    security(()),
    extensions(("x-extension" = json!(true))),
    responses((status = 200, description = "JSON, or HTML where Accept names text/html", body = Service))
)]
pub(super) async fn root(
    State(app): State<App>,
    Extension(scope): Extension<Scope>,
    Extension(inside): Extension<Inside>,
    visitor: Option<Visitor>,
    headers: HeaderMap,
) -> Response {
    let mut response = if wants_html(&headers) {
        match visitor {
            Some(visitor) => playground::playground(&visitor, &inside),
            None => {
                let base = base_url(&app, &scope, &headers);
                render::open_page("welcome.html", json!({"base": base}))
            }
        }
    } else {
        Json(Service {
            name: "orbweaver",
            version: env!("CARGO_PKG_VERSION"),
            docs: "/docs",
            openapi: "/openapi.json",
            mcp: "/mcp",
        })
        .into_response()
    };
    let vary = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, vary);
    response
}

/// Whether `Accept` names HTML, as browsers do. `*/*` alone is a program's.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    accept::wanted(headers, "text", "html").is_named()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_names_html_gets_it() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("application/json, TEXT/HTML;q=0.1", true),
            ("*/*", false),
            ("application/json", false),
            ("text/html;q=0, application/json", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]);
            assert_eq!(wants_html(&headers), expected, "{accept}");
        }
        assert!(!wants_html(&HeaderMap::new()));
    }
}
